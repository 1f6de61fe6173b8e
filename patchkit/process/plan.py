"""What is to be done for a row when which module is imported. Nothing in here changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.record import Record

if TYPE_CHECKING:
    from patchkit.rows.declaration import Change, Row

BEFORE, SERVING, AFTER = "before", "serving", "after"
"""When changes are due: before a module executes, where nobody else has it, and after it."""


class ChangeGroup(Record, eq=False):
    """
    The changes of one row that one module's import makes due; they apply together.

    Args:
        row: their row.
        module: name of the module.
        moment: when, around its import.
        changes: in declared order with their places in the row, those for other versions included.
        rank: place of the row among all rows.

    """

    row: Row
    module: str
    moment: str
    changes: tuple[tuple[int, Change], ...]
    rank: int = 0


def groups_of(row: Row, rank: int) -> list[ChangeGroup]:
    """Group the changes of a row by the imports that make them due."""
    groups: dict[tuple[str, str], list[tuple[int, Change]]] = {}
    for place, change in enumerate(row.patch.changes):
        groups.setdefault((change.place.module, _moment(change)), []).append((place, change))
    return [ChangeGroup(row, *key, tuple(changes), rank) for key, changes in groups.items()]


def _moment(change: Change) -> str:
    if change.kind == "Provide":
        return SERVING
    return BEFORE if change.before else AFTER
