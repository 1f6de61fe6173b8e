"""The smallest set of releases that shows everything that differs between releases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.grid import Grid
from patchkit.check.subjects import learn_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.errors import UpstreamError
    from patchkit.registry import Row
    from patchkit.upstream.reading.releases import Progress

_TRIES = 20_000
"""How many branches are looked into before the best so far is taken."""

Cases = dict[str, frozenset[int]]
"""What has to be exercised, in words, and the releases (by their place) that do."""
_Case = tuple[str, frozenset[int]]


def cases(
    rows: Sequence[Row], subjects: Sequence[Subject], progress: Progress | None = None
) -> tuple[Cases, Mapping[str, UpstreamError]]:
    """
    List what has to be exercised.

    These are the first and last release in the range of each row, and of each change with a range
    of its own, and each source that a target has within its range.

    Args:
        rows: whose ranges and targets.
        subjects: the releases of one distribution, the oldest first.
        progress: told of each that was read.

    Returns:
        The cases, and the error of each release that cannot be read.

    """
    grid = Grid(rows, subjects)
    faults = learn_all(subjects, grid.targets, progress)
    found: Cases = {}
    sound = [at for at, one in enumerate(subjects) if one.name not in faults]
    for row in rows:
        found.update(_boundaries(row, grid, sound))
        found.update(_sources(row, grid, sound))
    return found, faults


def _boundaries(row: Row, grid: Grid, places: Sequence[int]) -> Iterator[_Case]:
    ranges = {row.name: [at for at in places if _is_in(row, grid, at)]}
    for number, change in enumerate(row.patch.changes, start=1):
        if change.requires:
            due = [at for at in places if change in grid.due(row, grid.subjects[at])]
            ranges[f"{row.name}, change {number}"] = due
    for name, inside in ranges.items():
        if inside:
            yield f"first release of {name}", frozenset(inside[:1])
            yield f"last release of {name}", frozenset(inside[-1:])


def _is_in(row: Row, grid: Grid, at: int) -> bool:
    subject = grid.subjects[at]
    return grid.meets(row, subject) and not grid.is_out(row, subject)


def _sources(row: Row, grid: Grid, places: Sequence[int]) -> Iterator[_Case]:
    by_source: dict[str, set[int]] = {}
    for at in places:
        subject = grid.subjects[at]
        for change in grid.due(row, subject):
            facts = subject.facts(change.place)
            mark = facts.fingerprint or facts.state
            by_source.setdefault(f"{change.place} as {mark}", set()).add(at)
    yield from ((name, frozenset(several)) for name, several in by_source.items())


def smallest(found: Cases) -> list[int]:
    """
    Choose the fewest releases that exercise every case; of equal choices, newer releases.

    Returns:
        Their places, in order.

    """
    return sorted(_Cover(list(found.values())).best())


class _Cover:
    """
    A search for the smallest set that meets every set of a collection.

    Args:
        wanted: the collection; no set of it is empty.

    """

    def __init__(self, wanted: list[frozenset[int]]) -> None:
        several = set(wanted)
        # What contains another is met whenever that is.
        self._wanted = [one for one in several if not any(other < one for other in several)]
        self._wanted.sort(key=lambda one: (len(one), sorted(one)))
        self._best = self._greedy()
        self._left = _TRIES

    def best(self) -> frozenset[int]:
        """Return it."""
        self._search(frozenset(), self._wanted)
        return self._best

    def _greedy(self) -> frozenset[int]:
        chosen: set[int] = set()
        open_ones = self._wanted
        while open_ones:
            members = {at for one in open_ones for at in one}
            chosen.add(max(members, key=lambda at: (sum(at in one for one in open_ones), at)))
            open_ones = [one for one in open_ones if not one & chosen]
        return frozenset(chosen)

    def _search(self, chosen: frozenset[int], open_ones: list[frozenset[int]]) -> None:
        self._left -= 1
        if not open_ones:
            self._best = min(self._best, chosen, key=_worth)
            return
        if self._left < 0 or len(chosen) + _at_least(open_ones) >= len(self._best):
            return
        narrowest = min(open_ones, key=len)
        for at in sorted(narrowest, reverse=True):
            self._search(chosen | {at}, [one for one in open_ones if at not in one])


def _worth(chosen: frozenset[int]) -> tuple[int, list[int]]:
    return len(chosen), sorted(-at for at in chosen)


def _at_least(open_ones: list[frozenset[int]]) -> int:
    """Count sets that have nothing in common: each needs a release of its own."""
    taken: set[int] = set()
    count = 0
    for one in open_ones:
        if not one & taken:
            taken |= one
            count += 1
    return count
