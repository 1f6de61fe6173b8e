"""Rows that a block brings along, of a pack that is not installed; for no role, and for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.imports.half_imported import let_pass
from patchkit.registry import duplicate
from patchkit.rows.declaration import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchkit.imports.finder import Finder
    from patchkit.process.schedule import Schedule


class Guests:
    """Takes rows in, and leaves them out again."""

    def __init__(self, schedule: Schedule, finder: Finder) -> None:
        self._schedule = schedule
        self._finder = finder

    def meet(self, rows: Iterable[Row]) -> None:
        """
        Know further rows until they are forgotten.

        Raises:
            DeclarationError: a row has the name of another one that is known.

        """
        for row in [row for row in rows if not self._is_known(row)]:
            self._schedule.add(Row(row.pack, row.patch, frozenset()))
        self._finder.watch(self._schedule.modules)
        let_pass(self._schedule.modules)

    def forget(self, packs: Collection[str] | None = None) -> None:
        """Leave out the rows that nobody holds, all or those of these packs."""
        for name, state in list(self._schedule.patches.items()):
            is_guest = not (state.row.roles or state.holders)
            if is_guest and (packs is None or state.row.pack in packs):
                self._schedule.remove(name)

    def _is_known(self, row: Row) -> bool:
        if (state := self._schedule.patches.get(row.name)) is None:
            return False
        if (state.row.pack, state.row.patch) != (row.pack, row.patch):
            raise duplicate(row, state.row)
        return True
