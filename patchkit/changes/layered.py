"""A change that is one layer on one site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.changes.sites import Layer, Site


@dataclass
class PreparedLayer:
    """
    A layer that was built once to see that it can be.

    Args:
        site: where it goes.
        layer: what goes there.

    """

    site: Site
    layer: Layer

    @property
    def sites(self) -> tuple[Site, ...]:
        """The one site."""
        return (self.site,)

    def apply(self) -> None:
        """Put the layer on."""
        self.site.put(self.layer)

    def undo(self) -> None:
        """Take the layer off."""
        self.site.take(self.layer)
