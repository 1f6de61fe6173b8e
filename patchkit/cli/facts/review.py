"""How the targets of a row compare with what was reviewed, and in which releases that was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.review.compare import Look

if TYPE_CHECKING:
    from patchkit.report.shapes import ReviewShape
    from patchkit.review.lock_format import Lock
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.upstream.here import Here


class Review:
    """
    The review of one row.

    Args:
        row: the row.
        lock: what was reviewed; None where no lock speaks of the row.
        here: what is installed.

    """

    def __init__(self, row: Row, lock: Lock | None, here: Here) -> None:
        self._row = row
        self._lock = lock
        self._here = here

    def of(self, change: Change) -> ReviewShape | None:
        """Compare the target of a change; None where the change depends on no source."""
        if not change.is_reviewed:
            return None
        if self._lock is None:
            return {"state": "no-lock", "detail": "no lock speaks of this patch", "spans": []}
        found = Look(self._row.name, self._lock, self._here).verdict(change.place)
        spans = self._lock.spans(self._row.name, str(change.place))
        return {
            "state": found.state,
            "detail": found.words,
            "spans": [
                {
                    "project": one.project,
                    "first": one.first,
                    "last": one.last,
                    "fingerprint": one.fingerprint,
                }
                for one in spans
            ],
        }
