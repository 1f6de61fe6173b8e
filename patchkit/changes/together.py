"""A change that is a layer on each of several sites."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.changes.layered import PreparedLayer
    from patchkit.changes.sites import Site


@dataclass
class PreparedTogether:
    """
    Layers that come and go together.

    Args:
        parts: one for each site.

    """

    parts: Sequence[PreparedLayer]

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites of all parts."""
        return tuple(part.site for part in self.parts)

    def apply(self) -> None:
        """Put all layers on."""
        for part in self.parts:
            part.apply()

    def undo(self) -> None:
        """Take all layers off, the last first; one that fails does not stop the others."""
        with contextlib.ExitStack() as stack:
            for part in self.parts:
                stack.callback(part.undo)
