"""Two patches on one target, where no `after` says which comes first."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from patchkit.rows.declaration import Change, Row


def unordered(
    rows: Sequence[Row], applies: Callable[[Row, Change], bool]
) -> Iterator[tuple[str, str, str]]:
    """
    Find them: the target, and the names of both in the order in which they apply.

    Args:
        rows: in order.
        applies: says which of their changes are made.

    """
    by_target: dict[str, list[Row]] = {}
    for row in rows:
        for target in _targets(row, applies):
            by_target.setdefault(target, []).append(row)
    before = {row.name: row.patch.after for row in rows}
    for target, several in by_target.items():
        for inner, outer in combinations(several, 2):
            if meet(inner, outer) and not _comes_after(outer.name, inner.name, before):
                yield target, inner.name, outer.name


def meet(one: Row, other: Row) -> bool:
    """Whether both can be in one process; those that conflict are another finding."""
    refused = one.name in other.patch.conflicts or other.name in one.patch.conflicts
    return bool(one.roles & other.roles) and not refused


def _targets(row: Row, applies: Callable[[Row, Change], bool]) -> list[str]:
    places = [change.place for change in row.patch.changes if applies(row, change)]
    return list(dict.fromkeys(str(place) for place in places if place.qualname))


def _comes_after(name: str, other: str, before: Mapping[str, Collection[str]]) -> bool:
    """Whether one patch is declared to come after another, by way of others too."""
    waiting, seen = list(before.get(name, ())), set()
    while waiting:
        one = waiting.pop()
        if one == other:
            return True
        if one not in seen:
            seen.add(one)
            waiting += before.get(one, ())
    return False
