"""Rows that a block brings along, of a pack that is not installed; for no role, and for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.imports.half_imported import let_pass
from patchkit.registry import duplicate
from patchkit.rows.row import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchkit.imports.finder import Finder
    from patchkit.process.schedule import Schedule


def meet(rows: Iterable[Row], schedule: Schedule, finder: Finder) -> None:
    """
    Know further rows until they are forgotten.

    Raises:
        DeclarationError: a row has the name of another one that is known.

    """
    new = [row for row in rows if not _is_known(row, schedule)]
    for row in new:
        schedule.add(Row(row.pack, row.patch, frozenset()))
    finder.watch(schedule.modules)
    let_pass(schedule.modules)


def _is_known(row: Row, schedule: Schedule) -> bool:
    if (state := schedule.patches.get(row.name)) is None:
        return False
    if (state.row.pack, state.row.patch) != (row.pack, row.patch):
        raise duplicate(row, state.row)
    return True


def forget(schedule: Schedule, packs: Collection[str] | None) -> None:
    """Leave out the rows, of these packs or of all, that are for no role and that nobody holds."""
    for name, state in list(schedule.patches.items()):
        is_guest = not (state.row.roles or state.holders)
        if is_guest and (packs is None or state.row.pack in packs):
            schedule.remove(name)
