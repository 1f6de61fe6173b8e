"""Checks rows against releases by every rule, and reports the findings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.declarations import (
    of_conflicts,
    of_ranges,
    of_row,
    order_of,
    unordered,
)
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.exclusion import (
    Exclusion,
    Exclusions,
    additions_beside,
    is_added_by_earlier_row,
)
from patchkit.analysis.check.findings import (
    Fault,
    Finding,
    Place,
    Report,
    State,
    finding_of_row,
    mark_errors,
    unreadable,
)
from patchkit.analysis.check.importers import of_importers
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.late_attributes import find_late_attributes
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.loading import PackBodies
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease, files_of
from patchkit.analysis.check.review import Commands, of_bases, of_reviews
from patchkit.analysis.check.role_table import of_roles, read_role_table
from patchkit.analysis.check.similar_names import NEARLY_EQUAL, did_you_mean
from patchkit.analysis.check.trails import Moves, changed_targets
from patchkit.analysis.check.unknown_names import UnknownNames
from patchkit.analysis.check.using import Misfit, RowUses, finding_of
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.analysis.upstream.resolving.resolve import TOO_DEEP
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Add, Change, Provide, Row
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_STATES = list(State)
"""The states of a patch, the worst last."""
_FIX_UNREADABLE = (
    "try again, leave the release out, or use --offline for what was read before"
)


class Check:
    """Checks rows in releases once, by every rule.

    Args:
        rows: the rows, in the order in which they apply.
        releases: the releases, the oldest first.
        lock: what was reviewed.
        known: the versions of each distribution on the index, as far as they are known.
        commands: writes the commands that findings advise; None for commands without options.
        faults: the findings from reading the packs.
        inverse: whether rows are checked in releases out of their range as well.
        beside: further rows, which are not checked, and whose additions are there.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        releases: Sequence[CheckedRelease],
        lock: Lock,
        known: Mapping[str, Sequence[str]],
        commands: Commands | None = None,
        *,
        faults: Sequence[Finding] = (),
        inverse: bool = False,
        beside: Sequence[Row] = (),
    ) -> None:
        self._coverage = Coverage(rows, releases, inverse=inverse, beside=beside)
        self._faults = faults
        self._lock = lock
        self._versions = known
        self._commands = commands or Commands()
        # What the rows that were checked so far edit and add, by the name of the release.
        self._edits = {release.name: EditSequence() for release in releases}
        self._additions: dict[str, dict[Target, Row]] = {
            release.name: {} for release in releases
        }
        packs = dict.fromkeys(row.pack for row in rows)
        self._packs = {name: PackSource(name) for name in packs}
        self._unknown_names = UnknownNames([*rows, *beside])
        self._uses = RowUses(self._coverage, self._packs)
        self._states: dict[str, dict[str, State]] = {row.name: {} for row in rows}

    def run(self, progress: Progress | None = None) -> Report:
        """Check every release; one that cannot be read is a finding, and does not stop the others.

        All targets are looked up first, in many releases at a time. The rules then run one after
        another, and find the facts in memory.

        Args:
            progress: called with how many releases are read.

        Returns:
            The findings, and the state of each row in each release.
        """
        rows = self._coverage.rows
        releases = self._coverage.releases
        unread = learn_all(releases, self._looked_up, progress)
        findings = [*self._faults]
        for name, error in unread.items():
            findings.append(unreadable(name, error, _FIX_UNREADABLE))
        self._coverage = self._coverage.without(unread)
        find_late_attributes(
            self._coverage.releases, lambda release: set(self._looked_up(release))
        )
        for release in self._coverage.releases:
            self._additions[release.name] = additions_beside(self._coverage, release)
        moves = Moves(self._coverage.releases, self._expected)
        bodies: dict[str, PackBodies] = {}
        role_table = read_role_table()
        names_of_patches = {row.name for row in (*rows, *self._coverage.beside)}
        for row in rows:
            pack = self._packs[row.pack]
            if row.pack not in bodies:
                bodies[row.pack] = PackBodies(pack)
            findings += of_row(row, pack, bodies[row.pack])
            findings += of_conflicts(row, names_of_patches, self._place(row))
            findings += of_roles(row, role_table, self._place(row))
            findings += self._of_row(row, moves)
        findings += self._order()
        findings += of_importers(self._coverage)
        mark_errors(self._states, findings)
        names = [release.name for release in releases]
        return Report(
            names,
            findings,
            self._states,
            unreadable=unread.keys(),
            files=files_of(releases),
        )

    def _looked_up(self, release: CheckedRelease) -> list[Target]:
        """List the targets that the rules look up in a release: of changes, and used by bodies."""
        return [*self._coverage.targets(release), *self._uses.targets(release)]

    def _expected(self, release: CheckedRelease) -> list[Target]:
        """List the targets that have to be in a release; those it lacks are searched for."""
        return [
            *changed_targets(self._coverage, release),
            *self._uses.required(release),
        ]

    def _place(self, row: Row) -> Place:
        """Return the file and line of a row."""
        return self._packs[row.pack].place(row)

    def _of_row(self, row: Row, moves: Moves) -> Iterator[Finding]:
        """Find what is wrong with a row in the releases, and set its state in each."""
        yield from of_ranges(row, self._coverage, self._versions, self._place(row))
        concerned = [
            release
            for release in self._coverage.releases
            if self._coverage.concerns(row, release)
        ]
        # Releases out of range are among these only with `inverse`.
        checked = [
            release for release in concerned if self._coverage.to_check(row, release)
        ]
        misfits_by_release = self._uses.misfits(row, checked)
        for release in concerned:
            misfits = misfits_by_release.get(release.name, ())
            try:
                if not self._coverage.is_out_of_range(row, release):
                    yield from self._in_range(row, release, misfits, moves)
                    continue
                self._states[row.name][release.name] = State.OUT_OF_RANGE
                if release in checked:
                    yield from self._out_of_range(row, release, misfits)
            except UpstreamError as error:
                yield unreadable(release.name, error, _FIX_UNREADABLE, row.name)
            except RecursionError:
                fault = UpstreamError(TOO_DEEP)
                yield unreadable(release.name, fault, _FIX_UNREADABLE, row.name)
        yield from self._reviews(row)
        yield from of_bases(row, self._coverage, self._place(row))

    def _out_of_range(
        self, row: Row, release: CheckedRelease, misfits: Sequence[Misfit]
    ) -> Iterator[Finding]:
        """Find that a row would hold in a release that its range leaves out."""
        # With an empty EditSequence: the row's Edits are tried without those of other rows.
        judge = Judge(row, release, self._packs[row.pack], EditSequence())
        faults = [misfit.fault for misfit in misfits]
        for change in self._coverage.to_check(row, release):
            faults += judge.faults(change)
        release.forget_sources()
        if all(fault.state is State.OK for fault in faults):
            file, line = self._place(row)
            requirements = ", ".join(row.patch.requires)
            yield Finding(
                code=codes.COULD_BE_WIDER,
                message=f"the patch would also hold here, outside its range ({requirements})",
                fix="test it, then widen the range; or accept the finding",
                patch=row.name,
                release=release.name,
                file=file,
                line=line,
            )

    def _in_range(
        self, row: Row, release: CheckedRelease, misfits: Sequence[Misfit], moves: Moves
    ) -> Iterator[Finding]:
        """Judge a row in a release of its range, and set its state there: that of its worst fault.

        Rows come in the order in which they apply. What this one adds and edits is remembered for
        the rows after it.
        """
        additions = self._additions[release.name]
        judge = Judge(
            row, release, self._packs[row.pack], self._edits[release.name], additions
        )
        states = [State.OK]
        states += [misfit.fault.state for misfit in misfits]
        for change in self._coverage.due(row, release):
            if is_added_by_earlier_row(row, change, release, additions):
                continue  # the release has no such target to judge the change by
            if isinstance(change, (Add, Provide)):
                additions.setdefault(change.place, row)
            faults = list(judge.faults(change))
            # The names that a change reads do not matter if it cannot be made at all.
            if not any(fault.breaks for fault in faults):
                pack = self._packs[row.pack]
                faults += self._unknown_names.faults(row, change, release, pack)
            for fault in faults:
                states.append(fault.state)
                yield self._finding(row, release, change, fault, moves)
        for misfit in misfits:
            yield finding_of(row.name, misfit, release, moves)
        release.forget_sources()
        self._states[row.name][release.name] = _worst(states)

    def _reviews(self, row: Row) -> Iterator[Finding]:
        """Compare a row's targets with the lock, and set the row's state where a finding is worse.

        A release in which the row has no state could not be read, and is left out.
        """
        states = self._states[row.name]
        readable = self._coverage.without(
            release.name
            for release in self._coverage.releases
            if release.name not in states
        )
        for finding in of_reviews(
            row, readable, self._lock, self._commands, self._place(row)
        ):
            state = State.UNREVIEWED
            if finding.code is codes.DRIFT:
                state = State.DRIFT
            states[finding.release] = _worst([states[finding.release], state])
            yield finding

    def _finding(
        self,
        row: Row,
        release: CheckedRelease,
        change: Change,
        fault: Fault,
        moves: Moves,
    ) -> Finding:
        """Make the finding of a fault of a change; of a missing target, with where it went."""
        message = fault.message
        fix = fault.fix
        if _is_searched_for(fault, change, release):
            missing = change.place
            if isinstance(change, Add):
                missing = missing.holder  # what gets the new attribute is missing
            message += moves.words(missing, release)
            fix = moves.fix(fix, missing, release)
        if change.when:
            message += f"; {change.when} decides where it would apply"
        target = str(change.place)
        if fault.code is codes.UNDECIDABLE:
            entry = f'"{fault.code.code} {target}"'
            fix += f", then add {entry} to accept in [tool.patchkit]"
            slip = did_you_mean(change.place, release, NEARLY_EQUAL)
            if slip and not isinstance(change, Add):
                question = slip.removeprefix("; ")
                fix = f"{question} Otherwise, {fix}"
        file, line = self._packs[row.pack].place(row, fault.by)
        return Finding(
            fault.code, message, fix, row.name, target, release.name, file, line
        )

    def _order(self) -> Iterator[Finding]:
        """Find rows that exclude each other in a release, or do not say which is first."""
        rows = {row.name: row for row in self._coverage.rows}
        for (target, inner, outer), releases in self._unordered().items():
            file, line = self._place(rows[outer])
            yield Finding(
                code=codes.NO_ORDER,
                message=(
                    f"{inner} and {outer} both change {target}, and neither is after the other"
                ),
                fix=order_of(rows[inner], rows[outer], target),
                patch=outer,
                target=target,
                file=file,
                line=line,
                details=releases,
            )
        for release, exclusions in self._exclusions.items():
            for exclusion in exclusions:
                yield finding_of_row(
                    codes.EXCLUDED,
                    exclusion.message,
                    exclusion.fix,
                    exclusion.row,
                    self._place(exclusion.row),
                    target=exclusion.target,
                    release=release,
                )

    def _unordered(self) -> dict[tuple[str, str, str], list[str]]:
        """Find pairs of rows that change one target, and do not say which comes first.

        Returns:
            The names of the releases in which they do, by the target and the names of the row that
            comes first now (inner) and of the other (outer). Rows that exclude each other in a
            release are left out, as that is a finding of its own.
        """
        releases: dict[tuple[str, str, str], list[str]] = {}
        for release in self._coverage.releases:
            due = partial(self._coverage.due, release=release)
            excluded = set(map(_clash_of, self._exclusions[release.name]))
            for clash in unordered(self._coverage.rows, due):
                if frozenset(clash) not in excluded:
                    releases.setdefault(clash, []).append(release.name)
        return releases

    @cached_property
    def _exclusions(self) -> dict[str, list[Exclusion]]:
        """The rows that exclude each other, by the name of the release in which they do."""
        by_release = {}
        for release in self._coverage.releases:
            exclusions = Exclusions(self._coverage, release, self._packs)
            by_release[release.name] = list(exclusions.find())
        return by_release


def _is_searched_for(fault: Fault, change: Change, release: CheckedRelease) -> bool:
    """Whether a fault is that of a target which may have moved, or may be misspelled.

    An attribute of instances is neither: its class has a method that assigns it.
    """
    if fault.code is not codes.TARGET_MISSING or isinstance(change, Provide):
        return False
    return isinstance(change, Add) or not release.facts(change.place).setter


def _clash_of(exclusion: Exclusion) -> frozenset[str]:
    """Return the target and both rows of an exclusion, to find the clash of `unordered` by them.

    As a set, because an exclusion may name the rows in the other order.
    """
    return frozenset((exclusion.target, exclusion.row.name, exclusion.other.name))


def _worst(states: Iterable[State]) -> State:
    return max(states, key=_STATES.index)
