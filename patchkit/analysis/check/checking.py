"""Checks rows against releases, by every rule, and reports what comes of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.declarations import (
    of_ranges,
    of_row,
    order_of,
    unordered,
)
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.exclusion import (
    Exclusion,
    Exclusions,
    is_brought,
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
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.loading import PackBodies
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.review import Commands, of_bases, of_reviews
from patchkit.analysis.check.trails import Moves, places_of
from patchkit.analysis.check.using import Misfit, RowUses, finding_of
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.analysis.uses.packages import modules_of
from patchkit.analysis.uses.reader import uses_of
from patchkit.analysis.uses.use import Use
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Add, Change, Provide, Replace, Row, Wrap
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_WORST = list(State)
_AGAIN = "try again, leave the release out, or use --offline for what was read before"
_SHOWN = 3
"""How many importers a message names."""


class Check:
    """One check of rows in releases.

    Args:
        rows: the rows, in the order in which they apply.
        releases: the releases, the oldest first.
        lock: what was reviewed.
        known: all versions that there are of distributions.
        commands: the commands to run after it; None for those without options.
        faults: what reading the packs has found already.
        inverse: whether releases out of range are asked about as well.
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
    ) -> None:
        self._coverage = Coverage(rows, releases, inverse=inverse)
        self._faults = faults
        self._lock = lock
        self._versions = known
        self._commands = commands or Commands()
        self._edits = {release.name: EditSequence() for release in releases}
        self._additions: dict[str, dict[Target, Row]] = {
            release.name: {} for release in releases
        }
        packs = dict.fromkeys(row.pack for row in rows)
        self._packs = {name: PackSource(name) for name in packs}
        self._uses = RowUses(self._coverage, self._packs)
        self._states: dict[str, dict[str, State]] = {row.name: {} for row in rows}

    def run(self, progress: Progress | None = None) -> Report:
        """Look into every release; one that cannot be read is a finding, and the others go on.

        What the rules ask of a release is learnt first, of many releases at a time. When a rule
        asks, the release knows it already.

        Args:
            progress: told how many releases are read.

        Returns:
            The findings, and the state of each row in each release.
        """
        every = self._coverage
        unread = learn_all(every.releases, self._looked_up, progress)
        findings = [unreadable(name, error, _AGAIN) for name, error in unread.items()]
        findings = [*self._faults, *findings]
        self._coverage = every.without(unread)
        moves = Moves(self._coverage.releases, self._expected)
        bodies: dict[str, PackBodies] = {}
        for row in every.rows:
            pack = self._packs[row.pack]
            if row.pack not in bodies:
                bodies[row.pack] = PackBodies(pack)
            findings += of_row(row, pack, bodies[row.pack])
            findings += self._of_row(row, moves)
        findings += self._order()
        findings += of_importers(self._coverage)
        mark_errors(self._states, findings)
        names = [release.name for release in every.releases]
        return Report(names, findings, self._states, unreadable=unread.keys())

    def _looked_up(self, release: CheckedRelease) -> list[Target]:
        """List what the rules ask of a release."""
        return [*self._coverage.targets(release), *self._uses.targets(release)]

    def _expected(self, release: CheckedRelease) -> list[Target]:
        """List what has to be in a release."""
        return [*places_of(self._coverage, release), *self._uses.read(release)]

    def _place(self, row: Row) -> Place:
        return self._packs[row.pack].place(row)

    def _of_row(self, row: Row, moves: Moves) -> Iterator[Finding]:
        yield from of_ranges(row, self._coverage, self._versions, self._place(row))
        releases = [
            release
            for release in self._coverage.releases
            if self._coverage.meets(row, release)
        ]
        tried = [release for release in releases if self._coverage.tried(row, release)]
        misfits_by_release = self._uses.misfits(row, tried)
        for release in releases:
            misfits = misfits_by_release.get(release.name, ())
            try:
                if not self._coverage.is_out(row, release):
                    yield from self._inside(row, release, misfits, moves)
                    continue
                self._states[row.name][release.name] = State.OUT_OF_RANGE
                if release in tried:
                    yield from self._outside(row, release, misfits)
            except UpstreamError as error:
                yield unreadable(release.name, error, _AGAIN, row.name)
        yield from self._reviews(row)
        yield from of_bases(row, self._coverage, self._place(row))

    def _outside(
        self, row: Row, release: CheckedRelease, misfits: Sequence[Misfit]
    ) -> Iterator[Finding]:
        """Say that a row would hold in a release that its range leaves out."""
        judge = Judge(row, release, self._packs[row.pack], EditSequence())
        faults = [misfit.fault for misfit in misfits]
        for change in self._coverage.tried(row, release):
            faults += judge.faults(change)
        release.rest()
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

    def _inside(
        self, row: Row, release: CheckedRelease, misfits: Sequence[Misfit], moves: Moves
    ) -> Iterator[Finding]:
        """Judge a row in a release of its range, and set its state there."""
        judge = Judge(row, release, self._packs[row.pack], self._edits[release.name])
        additions = self._additions[release.name]
        states = [State.OK]
        states += [misfit.fault.state for misfit in misfits]
        for change in self._coverage.due(row, release):
            if is_brought(row, change, release, additions):
                continue
            if isinstance(change, Add):
                additions.setdefault(change.place, row)
            for fault in judge.faults(change):
                states.append(fault.state)
                yield self._finding(row, release, change, fault, moves)
        for misfit in misfits:
            yield finding_of(row.name, misfit, release, moves)
        release.rest()
        self._states[row.name][release.name] = _worst(states)

    def _reviews(self, row: Row) -> Iterator[Finding]:
        """Compare a row's targets with the lock, where its state is known."""
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
        message = fault.message
        fix = fault.fix
        if fault.code is codes.TARGET_MISSING and not isinstance(change, Provide):
            missing = change.place
            if isinstance(change, Add):
                missing = missing.holder
            message += moves.words(missing, release)
            fix = moves.fix(fix, missing, release)
        if change.when:
            message += f"; {change.when} decides where it would apply"
        target = str(change.place)
        if fault.code is codes.UNDECIDABLE:
            entry = f'"{fault.code.code} {target}"'
            fix += f", then add {entry} to accept in [tool.patchkit]"
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
        """List the names of releases, by a target and the names of the two rows that change it."""
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
        """By the name of a release, the rows that exclude each other there."""
        exclusions = {}
        for release in self._coverage.releases:
            found = Exclusions(self._coverage, release, self._packs).find()
            exclusions[release.name] = list(found)
        return exclusions


def _clash_of(exclusion: Exclusion) -> frozenset[str]:
    return frozenset((exclusion.target, exclusion.row.name, exclusion.other.name))


def _worst(states: Iterable[State]) -> State:
    return max(states, key=_WORST.index)


def of_importers(coverage: Coverage) -> Iterator[Finding]:
    """Find who imports by name what rows replace, in the releases that are read whole.

    Args:
        coverage: the rows, and which releases they are for.

    Yields:
        A finding for each target of a row that is imported so.
    """
    for release in coverage.releases:
        if not release.is_local:
            continue
        replaced = dict.fromkeys(_replaced(coverage, release))
        importers = _importers(release.source, {target for _, target in replaced})
        for patch, target in replaced:
            imports = importers.get(target)
            if imports:
                yield _imported_by(imports, patch, str(target), release.name)


def _replaced(
    coverage: Coverage, release: CheckedRelease
) -> Iterator[tuple[str, Target]]:
    """List what another object is put in place of, while copies of the original are repointed."""
    for row in coverage.rows:
        for change in coverage.due(row, release):
            if isinstance(change, (Replace, Wrap)) and change.rebind:
                yield row.name, change.place


def _imported_by(
    imports: Sequence[Use], patch: str, target: str, release: str
) -> Finding:
    modules = [module_name(use.path) for use in imports]
    importers = ", ".join(modules[:_SHOWN])
    if len(modules) > _SHOWN:
        importers = f"{len(modules)} modules ({importers}, …)"
    return Finding(
        code=codes.BY_NAME_IMPORTERS,
        message=f"imported by name in {importers}",
        fix="no action needed, unless you set rebind=False",
        patch=patch,
        target=target,
        release=release,
        file=imports[0].path,
        line=imports[0].line,
        details=modules,
    )


def _importers(
    source: ReleaseSource, targets: Iterable[Target]
) -> dict[Target, list[Use]]:
    """Find the imports by name, as a module runs; the members of a class go with it."""
    importers: dict[Target, list[Use]] = {
        target: [] for target in targets if target.qualname.isidentifier()
    }
    if not importers:
        return {}
    trees = modules_of(source, {target.qualname for target in importers})
    packages = {target.module.partition(".")[0] for target in importers}
    for use in uses_of(trees, packages):
        is_by_name = use.how == "import" and use.at_import and use.target in importers
        if is_by_name and use.target.module != module_name(use.path):
            importers[use.target].append(use)
    return importers
