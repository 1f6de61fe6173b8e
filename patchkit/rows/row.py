"""A patch as one pack declares it, with its roles settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.record import Record

if TYPE_CHECKING:
    from patchkit.rows.declaration import Patch, Role


class Row(Record):
    """A patch in its pack, with its roles settled."""

    pack: str
    patch: Patch
    roles: frozenset[Role]

    @property
    def name(self) -> str:
        """The patch's name."""
        return self.patch.name

    @property
    def body(self) -> str:
        """Full module name of the body; the pack itself where there is none."""
        return f"{self.pack}.{self.patch.body}" if self.patch.body is not None else self.pack
