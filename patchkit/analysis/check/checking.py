"""Rows against releases: every rule, and what came of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.declarations import of_ranges, of_row, unordered
from patchkit.analysis.check.findings import Fault, Finding, Report, State, unreadable
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.review import Commands, of_bases, of_reviews
from patchkit.analysis.check.trails import Moves, places_of
from patchkit.analysis.check.using import Misfit, RowUses, finding_of
from patchkit.analysis.upstream.reading.files import ReleaseSource
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.analysis.uses.packages import modules_of
from patchkit.analysis.uses.reader import Use, uses_of
from patchkit.core.lock.format import Lock
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Add, Change, Provide, Replace, Row, Wrap
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_WORST = list(State)
_AGAIN = "check it again, leave it out, or use --offline for what was read before"


class Check:
    """One check: of rows in the order in which they apply, in releases, the oldest first."""

    def __init__(
        self,
        rows: Sequence[Row],
        subjects: Sequence[CheckedRelease],
        lock: Lock,
        known: Mapping[str, Sequence[str]],  # all versions that there are of distributions
        commands: Commands | None = None,
        *,
        inverse: bool = False,  # whether releases out of range are asked about as well
    ) -> None:
        self._coverage = Coverage(rows, subjects, inverse=inverse)
        self._lock = lock
        self._known = known
        self._commands = commands or Commands()
        self._edits = {one.name: EditSequence() for one in subjects}
        self._packs = {name: PackSource(name) for name in dict.fromkeys(row.pack for row in rows)}
        self._uses = RowUses(self._coverage, self._packs)
        self._states: dict[str, dict[str, State]] = {row.name: {} for row in rows}

    def run(self, progress: Progress | None = None) -> Report:
        """Look into every release; one that cannot be read is a finding, and the others go on."""
        whole = self._coverage
        faults = learn_all(
            whole.subjects, lambda one: [*whole.targets(one), *self._uses.targets(one)], progress
        )
        findings = [unreadable(name, error, _AGAIN) for name, error in faults.items()]
        left = self._coverage = whole.without(faults)
        moves = Moves(left.subjects, lambda one: [*places_of(left, one), *self._uses.read(one)])
        for row in whole.rows:
            findings += of_row(row, self._packs[row.pack])
            findings += self._of_row(row, moves)
        findings += self._order()
        findings += of_importers(self._coverage)
        names = [one.name for one in whole.subjects]
        return Report(names, findings, self._states, unreadable=faults.keys())

    def _of_row(self, row: Row, moves: Moves) -> Iterator[Finding]:
        place = self._packs[row.pack].place(row)
        yield from of_ranges(row, self._coverage, self._known, place)
        met = [one for one in self._coverage.subjects if self._coverage.meets(row, one)]
        tried = [one for one in met if self._coverage.tried(row, one)]
        misfits = self._uses.misfits(row, tried)
        for subject in met:
            some = misfits.get(subject.name, ())
            try:
                if not self._coverage.is_out(row, subject):
                    yield from self._in(row, subject, some, moves)
                    continue
                self._states[row.name][subject.name] = State.OUT_OF_RANGE
                if subject in tried:
                    yield from self._outside(row, subject, some)
            except UpstreamError as error:
                yield unreadable(subject.name, error, _AGAIN, row.name)
        yield from self._reviews(row)
        yield from of_bases(row, self._coverage, place)

    def _outside(
        self, row: Row, subject: CheckedRelease, misfits: Sequence[Misfit]
    ) -> Iterator[Finding]:
        judge = Judge(row, subject, self._packs[row.pack], EditSequence())
        faults = [one.fault for one in misfits]
        for change in self._coverage.tried(row, subject):
            faults += judge.faults(change)
        subject.rest()
        if all(one.state is State.OK for one in faults):
            message = f"it would hold there, outside of its range ({', '.join(row.patch.requires)})"
            fix = "widen the range, or accept it with the reason"
            place = self._packs[row.pack].place(row)
            yield Finding(codes.COULD_BE_WIDER, message, fix, row.name, "", subject.name, *place)

    def _in(
        self, row: Row, subject: CheckedRelease, misfits: Sequence[Misfit], moves: Moves
    ) -> Iterator[Finding]:
        judge = Judge(row, subject, self._packs[row.pack], self._edits[subject.name])
        states = [State.OK, *(misfit.fault.state for misfit in misfits)]
        for change in self._coverage.due(row, subject):
            for fault in judge.faults(change):
                states.append(fault.state)
                yield self._finding(row, subject, change, fault, moves)
        for misfit in misfits:
            yield finding_of(row.name, misfit, subject, moves)
        subject.rest()
        self._states[row.name][subject.name] = max(states, key=_WORST.index)

    def _reviews(self, row: Row) -> Iterator[Finding]:
        states = self._states[row.name]
        readable = self._coverage.without(
            one.name for one in self._coverage.subjects if one.name not in states
        )
        place = self._packs[row.pack].place(row)
        for one in of_reviews(row, readable, self._lock, self._commands, place):
            state = State.DRIFT if one.code is codes.DRIFT else State.UNREVIEWED
            states[one.release] = max(states[one.release], state, key=_WORST.index)
            yield one

    def _finding(
        self, row: Row, subject: CheckedRelease, change: Change, fault: Fault, moves: Moves
    ) -> Finding:
        file, line = self._packs[row.pack].place(row, fault.by)
        message = fault.message
        if fault.code is codes.TARGET_MISSING and not isinstance(change, (Add, Provide)):
            message += moves.words(change.place, subject)
        if change.when:
            message += f"; {change.when} decides where it would apply"
        target = str(change.place)
        fix = fault.fix
        if fault.code is codes.UNDECIDABLE:
            fix += f', then add "{fault.code.code} {target}" to accept in [tool.patchkit]'
        return Finding(fault.code, message, fix, row.name, target, subject.name, file, line)

    def _order(self) -> Iterator[Finding]:
        whole = self._coverage
        rows = {row.name: row for row in whole.rows}
        pairs = grouped(
            (found, one.name)
            for one in whole.subjects
            for found in unordered(whole.rows, partial(whole.due, release=one))
        )
        for (target, inner, outer), names in pairs.items():
            file, line = self._packs[rows[outer].pack].place(rows[outer])
            message = f"{inner} and {outer} both change {target}, and neither says which is first"
            fix = f"after=({inner!r},) in {outer}, or conflicts"
            yield Finding(codes.NO_ORDER, message, fix, outer, target, "", file, line, names)


def of_importers(coverage: Coverage) -> Iterator[Finding]:
    """Find who imports by name what rows replace, in the releases that are read whole."""
    for subject in filter(lambda one: one.is_local, coverage.subjects):
        # What another object is put in place of, while copies of the original are repointed.
        copied = dict.fromkeys(
            (row.name, one.place)
            for row in coverage.rows
            for one in coverage.due(row, subject)
            if isinstance(one, (Replace, Wrap)) and one.rebind
        )
        importers = _importers(subject.source, {place for _, place in copied})
        for patch, target in copied:
            if several := importers.get(target):
                yield _imported_by(several, patch, str(target), subject.name)


def _imported_by(several: Sequence[Use], patch: str, target: str, release: str) -> Finding:
    names = [module_name(one.path) for one in several]
    shown = ", ".join(names[:3])
    who = shown if len(names) <= 3 else f"{len(names)} modules ({shown}, …)"
    message = f"{target} is imported by name in {who}, which a patch that comes late has to rebind"
    fix = "nothing, if patchkit is loaded before them; else leave rebind on"
    place = (several[0].path, several[0].line)
    return Finding(codes.BY_NAME_IMPORTERS, message, fix, patch, target, release, *place, names)


def _importers(source: ReleaseSource, targets: Iterable[Target]) -> dict[Target, list[Use]]:
    """Find the imports by name, as a module runs; the members of a class go with it."""
    found: dict[Target, list[Use]] = {one: [] for one in targets if one.qualname.isidentifier()}
    trees = modules_of(source, {one.qualname for one in found}) if found else ()
    for use in uses_of(trees, {one.module.partition(".")[0] for one in found}):
        is_by_name = use.how == "import" and use.at_import and use.target in found
        if is_by_name and use.target.module != module_name(use.path):
            found[use.target].append(use)
    return found
