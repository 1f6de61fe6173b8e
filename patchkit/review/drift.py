"""Whether what a patch changes is what somebody has reviewed, asked where the patch applies."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from patchkit.errors import LockError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.review.compare import Look, Verdict
    from patchkit.review.lock_files import Locks
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target
    from patchkit.upstream.here import Here

UNREADABLE = "what was reviewed cannot be read"


class Drift:
    """
    What of upstream nobody has reviewed, as it lies here; each row is looked at once.

    Args:
        lock: file that says what was reviewed; None for those that packs bring.
        path: where packages are found, as in `sys.path`, which is the default.

    """

    def __init__(self, lock: str | None = None, path: list[str] | None = None) -> None:
        self._lock = lock
        self._path = path
        self._known: dict[str, str] = {}
        self._releases: dict[tuple[str, str], tuple[str, str] | None] = {}

    @functools.cached_property
    def _locks(self) -> Locks:
        from patchkit.review.lock_files import Locks  # noqa: PLC0415 - arming asks for none

        return Locks(self._lock)

    @functools.cached_property
    def _here(self) -> Here:
        from patchkit.upstream.here import Here  # noqa: PLC0415 - most processes have no lock

        return Here(self._path)

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """
        Say which targets of a row are not as they were reviewed; '' where all are.

        Args:
            row: the row.
            changes: those of its changes that are for here.

        """
        if row.name not in self._known:
            self._known[row.name] = self._words(row, changes)
        return self._known[row.name]

    def releases(self, row: Row, project: str) -> tuple[str, str] | None:
        """
        Find the reviewed releases, first and last, whose sources are those that lie here.

        Args:
            row: whose targets tell.
            project: the distribution, canonicalized.

        Returns:
            None where no target tells, or one tells that this is none of them.

        """
        key = (row.name, project)
        if key not in self._releases:
            try:
                look = self._look(row)
            except LockError:
                look = None
            targets = _targets(row.patch.changes)
            self._releases[key] = look.releases(targets, project) if look else None
        return self._releases[key]

    def verdicts(self, row: Row, changes: Iterable[Change]) -> dict[Target, Verdict]:
        """
        Compare the targets of a row with what was reviewed; nothing where no lock speaks of it.

        Raises:
            LockError: the lock is none.

        """
        look = self._look(row)
        return {target: look.verdict(target) for target in _targets(changes)} if look else {}

    def _look(self, row: Row) -> Look | None:
        if (lock := self._locks.of(row)) is None:
            return None
        from patchkit.review.compare import Look  # noqa: PLC0415 - most processes have no lock

        return Look(row.name, lock, self._here)

    def _words(self, row: Row, changes: Iterable[Change]) -> str:
        try:
            verdicts = self.verdicts(row, changes).values()
        except LockError as error:
            return f"{UNREADABLE}: {error}"
        finally:
            if "_here" in vars(self):
                self._here.rest()  # a process that lives for weeks needs no syntax trees
        return "; ".join(verdict.words for verdict in verdicts if verdict.words)


def _targets(changes: Iterable[Change]) -> list[Target]:
    return list(dict.fromkeys(change.place for change in changes if change.is_reviewed))
