"""A change that is a layer on each of one or several sites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.changes.sites import Layer, Site


class PreparedLayers(Record, frozen=False):
    """
    Layers that come and go together, built once to see that they can be.

    Args:
        parts: where each goes, and what goes there, in the order in which they go on and come off:
            what is generated is generated from what lies there by then.

    """

    parts: Sequence[tuple[Site, Layer]]

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites of all parts."""
        return tuple(site for site, _ in self.parts)

    def apply(self) -> None:
        """Put all layers on."""
        for site, layer in self.parts:
            site.put(layer)

    def undo(self) -> None:
        """
        Take all layers off.

        Raises:
            UndoError: somebody else has overwritten one of them; the others are off.

        """
        errors: list[Exception] = []
        for site, layer in self.parts:
            try:
                site.take(layer)
            except Exception as error:  # noqa: BLE001 - raised once all are off
                errors.append(error)
        if errors:
            raise errors[0]
