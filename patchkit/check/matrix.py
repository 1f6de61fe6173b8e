"""A few releases that show everything that differs between releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.coverage import Coverage
from patchkit.check.learning import learn_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.errors import UpstreamError
    from patchkit.rows.declaration import Row
    from patchkit.upstream.reading.parallel import Progress

Cases = dict[str, frozenset[int]]  # what to exercise, in words, and the places of releases that do


def cases(
    rows: Sequence[Row], subjects: Sequence[Subject], progress: Progress | None = None
) -> tuple[Cases, Mapping[str, UpstreamError]]:
    """List what has to be exercised in the releases of one distribution, and who cannot be read.

    These are the first and last release in the range of each row, and of each change with a range
    of its own, and each source that a target has within its range.
    """
    coverage = Coverage(rows, subjects)
    faults = learn_all(subjects, coverage.targets, progress)
    found: Cases = {}
    sound = [at for at, one in enumerate(subjects) if one.name not in faults]
    for row in rows:
        found.update(_boundaries(row, coverage, sound))
        found.update(_sources(row, coverage, sound))
    return found, faults


def _boundaries(
    row: Row, coverage: Coverage, places: Sequence[int]
) -> Iterator[tuple[str, frozenset[int]]]:
    met = [at for at in places if coverage.meets(row, coverage.subjects[at])]
    ranges = {row.name: [at for at in met if not coverage.is_out(row, coverage.subjects[at])]}
    for number, change in enumerate(row.patch.changes, start=1):
        if change.requires:
            due = [at for at in places if change in coverage.due(row, coverage.subjects[at])]
            ranges[f"{row.name}, change {number}"] = due
    for name, inside in ranges.items():
        if inside:
            for word, at in (("first", 0), ("last", -1)):
                what = "release of" if inside[at] != places[at] else "of the given releases for"
                yield f"{word} {what} {name}", frozenset([inside[at]])


def _sources(row: Row, coverage: Coverage, places: Sequence[int]) -> Cases:
    by_source: dict[str, set[int]] = {}
    for at in places:
        subject = coverage.subjects[at]
        for change in coverage.due(row, subject):
            facts = subject.facts(change.place)
            mark = facts.fingerprint or facts.state
            by_source.setdefault(f"{change.place} as {mark}", set()).add(at)
    return {name: frozenset(several) for name, several in by_source.items()}


def few(found: Cases) -> list[int]:
    """Choose few releases that exercise every case, none of them for nothing; rather newer ones."""
    left = wanted = set(found.values())
    chosen: set[int] = set()
    while left:
        members = {at for one in left for at in one}
        chosen.add(max(members, key=lambda at: (sum(at in one for one in left), at)))
        left = {one for one in left if not one & chosen}
    for at in sorted(chosen):
        if all(one & (chosen - {at}) for one in wanted):
            chosen.discard(at)
    return sorted(chosen)
