"""What upstream did to targets: between two releases, and from release to release."""

import contextlib
import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage, allows
from patchkit.analysis.check.findings import cause_of
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.trails import Trails, meant
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.lock.format import Lock
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import parse_version
from patchkit.errors import UpstreamError


class Side(NamedTuple):
    """A target in one release: where it is there, and its source with what a call in it wraps."""

    release: str
    place: Target
    facts: Facts
    text: str

    @property
    def head(self) -> str:
        """How a diff names it."""
        lines = self.facts.lines
        where = f"{self.facts.path}:{lines[0]}" if lines else self.facts.state
        return f"{self.release}  {self.place}  {where}"


class Comparison(NamedTuple):
    """A target, as the row names it, in two releases."""

    target: Target
    old: Side
    new: Side

    @property
    def changed(self) -> bool:
        """Whether its meaning is another: layout and comments do not count."""
        return self.old.facts.fingerprint != self.new.facts.fingerprint

    @property
    def diff(self) -> str:
        """The two sources as a unified diff; '' where they are the same text."""
        old, new = (one.text.splitlines(keepends=True) for one in (self.old, self.new))
        lines = difflib.unified_diff(old, new, self.old.head, self.new.head)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def compare(target: Target, old: CheckedRelease, new: CheckedRelease) -> Comparison:
    """Compare a target in two releases; where one lacks it, at the place where it went."""
    first = _side(target, old, new)
    return Comparison(target, first, _side(target, new, old))


def _side(target: Target, subject: CheckedRelease, other: CheckedRelease) -> Side:
    place, facts = target, subject.facts(target)
    if facts.state == "absent" and other.facts(target).is_present:
        with contextlib.suppress(UpstreamError):
            place = subject.moves([(target, other)])[0].place or target
        facts = subject.facts(place)
    return Side(subject.name, place, facts, subject.whole_text(facts))


class Difference(NamedTuple):
    """What releases, the oldest first, changed in a target of a patch: a diff to the oldest."""

    patch: str
    releases: tuple[str, ...]
    text: str


def differences(
    rows: Sequence[Row], subjects: Sequence[CheckedRelease], lock: Lock
) -> list[Difference]:
    """Compare each release, of which the oldest come first, with the last reviewed before it."""
    coverage = Coverage(rows, subjects)
    found: dict[tuple[str, Target, str], Difference] = {}
    for row in rows:
        last: dict[Target, CheckedRelease] = {}
        for subject in subjects:
            with contextlib.suppress(UpstreamError):
                for place, text in _of_release(row, subject, coverage, last, lock):
                    key = (row.name, place, text.split("\n", 2)[-1])  # the head names releases
                    old = found.get(key, Difference(row.name, (), text))
                    found[key] = old._replace(releases=(*old.releases, subject.name))
    return list(found.values())


def _of_release(
    row: Row,
    subject: CheckedRelease,
    coverage: Coverage,
    last: dict[Target, CheckedRelease],
    lock: Lock,
) -> Iterator[tuple[Target, str]]:
    for place in coverage.reviewed(row, subject):
        mark = subject.facts(place).fingerprint
        old = last.get(place)
        if old and old.project == subject.project and old.facts(place).fingerprint != mark:
            if text := compare(place, old, subject).diff:
                yield place, text
            old.rest()
            subject.rest()
        known = lock.fingerprints(row.name, str(place))
        if mark and (not known or mark in known):
            last[place] = subject


def ends(
    row: Row, subjects: Sequence[CheckedRelease], lock: Lock, old: str | None, new: str | None
) -> tuple[CheckedRelease, CheckedRelease]:
    """Choose the releases to compare, of all of one distribution, the oldest first.

    Where no version is asked for, these are the last reviewed, else the oldest in the row's range;
    and the newest in the range, or of all where the range has nothing newer. Raises UpstreamError.
    """
    inside = [one for one in subjects if allows(row.patch.requires, one.project, one.version)]
    if not inside:
        found = f"found no release of {subjects[0].project} in the range of {row.name}"
        raise UpstreamError(f"{found}, expected one at least: correct its `requires`")
    first = _named(subjects, old) if old else _reviewed(row, subjects, lock) or inside[0]
    last = _named(subjects, new) if new else inside[-1]
    return first, last if new or last is not first else subjects[-1]


def base_of(
    row: Row, subjects: Sequence[CheckedRelease], lock: Lock, old: str | None, new: str
) -> tuple[CheckedRelease, CheckedRelease]:
    """Choose the release that a row was written for, and the later one that is asked for.

    Where none is named, the first is the last reviewed, else the newest in the row's range. Raises
    UpstreamError.
    """
    last = _named(subjects, new)
    before = subjects[: subjects.index(last)]
    known = [last, *before]  # what is carried already is for that release alone
    inside = [one for one in known if allows(row.patch.requires, one.project, one.version)]
    newest = inside[-1] if inside else None
    first = _named(before, old) if old else _reviewed(row, inside, lock) or newest
    if first is None:
        found = f"{row.name}: found no release before {last.name} in its range"
        raise UpstreamError(f"{found}, expected one; --from names the one that it was written for")
    return first, last


def _named(subjects: Sequence[CheckedRelease], version: str) -> CheckedRelease:
    wanted = parse_version(version)
    for one in subjects:
        if wanted is not None and parse_version(one.version) == wanted:
            return one
    project, last = subjects[0].project, subjects[-1].version
    raise UpstreamError(f"found no release {project} {version}, expected one such as {last}")


def _reviewed(row: Row, subjects: Sequence[CheckedRelease], lock: Lock) -> CheckedRelease | None:
    spans = [one for several in lock.entries.get(row.name, {}).values() for one in several]
    versions = {one.last for one in spans if one.project == subjects[0].project}
    return next((one for one in reversed(subjects) if one.version in versions), None)


class HistoryEntry(NamedTuple):
    """A target in one release."""

    release: str  # its version
    state: str  # present, absent, undecidable, or unreadable
    fingerprint: str | None = None  # of its source, where it is or has moved to
    changed: bool = False  # since the last release that had it
    moved_to: Target | None = None
    likeness: float | None = None  # 0 to 1, to its source where it was before; None if unknown
    reason: str = ""  # why it is not present, and what became of it


def histories(
    targets: Sequence[Target], subjects: Sequence[CheckedRelease], progress: Progress | None = None
) -> dict[Target, list[HistoryEntry]]:
    """Follow several targets through the releases of one distribution, the oldest first."""
    faults = learn_all(subjects, lambda _: targets, progress)
    trails = Trails([one for one in subjects if one.name not in faults], targets, ways=(1, -1))
    trails.follow()
    found = {target: list[HistoryEntry]() for target in targets}
    for target, steps in found.items():
        last: str | None = None
        for one in subjects:
            if fault := faults.get(one.name):
                step = HistoryEntry(one.version, "unreadable", reason=cause_of(fault))
            else:
                step = _step(one, target, trails.told(target, one))
            mark = step.fingerprint
            steps.append(step._replace(changed=mark is not None and last not in (None, mark)))
            last = mark or last
    return found


def _step(subject: CheckedRelease, target: Target, told: MoveResult | None) -> HistoryEntry:
    facts = subject.facts(target)
    step = HistoryEntry(subject.version, facts.state, facts.fingerprint, reason=facts.reason)
    if told is None or told.place is None:
        more = f"; {told.words}" if told and told.words else ""
        return step._replace(reason=f"{facts.reason}{more}")
    mark = subject.facts(told.place).fingerprint
    return step._replace(moved_to=told.place, likeness=told.likeness, fingerprint=mark)


def never_there(
    target: Target, steps: Sequence[HistoryEntry], subjects: Sequence[CheckedRelease]
) -> str:
    """Say that no release has, or may have, a target, and what is like it; '' where one has."""
    read = [one for one, step in zip(subjects, steps, strict=True) if step.state == "absent"]
    is_gone = all(one.state in ("absent", "unreadable") and not one.moved_to for one in steps)
    if not read or not is_gone:
        return ""
    span = read[0].name if len(read) == 1 else f"{read[0].name} to {read[-1].version}"
    return f"found no {target} in {span}{meant(target, read[-1]) or meant(target, read[0])}"
