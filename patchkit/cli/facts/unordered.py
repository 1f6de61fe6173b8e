"""Two patches for here on one target, where no `after` says which comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check import order
from patchkit.errors import VersionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection


def unordered(rows: Sequence[Row], selection: Selection) -> Iterator[tuple[str, str, str]]:
    """
    Find them: the target, and the names of both in the order in which they apply.

    Args:
        rows: those that are for here, in order.
        selection: says which of their changes are.

    """

    def applies(row: Row, change: Change) -> bool:
        try:
            return selection.applies(change, row)
        except VersionError:
            return True

    return order.unordered(rows, applies)
