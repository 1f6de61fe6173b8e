"""Which changes of a group are resolved together, and which only once others have been made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.rows.declaration import Change

    Placed = tuple[int, Change]

_PUTTING = ("Replace", "Add")
"""Kinds that put an object of the body in, inside which later changes of the row may have to go."""


def in_waves(changes: Iterable[Placed]) -> Iterator[list[Placed]]:
    """
    Cut changes where one lies inside what an earlier one puts in place.

    Wrapping a method of a class that the same row replaces means the class that is there then.

    Args:
        changes: in declared order, with their places in the row.

    """
    wave: list[Placed] = []
    for place, change in changes:
        if any(_is_inside(change, earlier) for _, earlier in wave):
            yield wave
            wave = []
        wave.append((place, change))
    yield wave


def _is_inside(change: Change, earlier: Change) -> bool:
    if earlier.kind not in _PUTTING or not change.inside_module:
        return False
    outer, inner = earlier.place, change.place
    if outer.module != inner.module:
        return False
    length = len(outer.steps)
    return len(inner.steps) > length and inner.steps[:length] == outer.steps
