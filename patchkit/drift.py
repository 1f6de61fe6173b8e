"""Whether what a patch changes is what somebody has reviewed, asked where the patch applies."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from patchkit.errors import LockError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.declaration import Change
    from patchkit.locks import Locks
    from patchkit.registry import Row
    from patchkit.reviewed import Verdict
    from patchkit.target import Target
    from patchkit.upstream.here import Here


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

    @functools.cached_property
    def _locks(self) -> Locks:
        from patchkit.locks import Locks  # noqa: PLC0415 - arming asks for none

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
            self._known[row.name] = self._words(row, list(changes))
        return self._known[row.name]

    def verdicts(self, row: Row, changes: Iterable[Change]) -> dict[Target, Verdict]:
        """
        Compare the targets of a row with what was reviewed; nothing where no lock speaks of it.

        Raises:
            LockError: the lock is none.

        """
        lock = self._locks.of(row)
        if lock is None:
            return {}
        from patchkit.reviewed import Look  # noqa: PLC0415 - most processes have no lock

        look = Look(row.name, lock, self._here)
        targets = dict.fromkeys(change.place for change in changes if change.is_reviewed)
        return {target: look.verdict(target) for target in targets}

    def _words(self, row: Row, changes: list[Change]) -> str:
        try:
            found = self.verdicts(row, changes)
        except LockError as error:
            return f"what was reviewed cannot be read: {error}"
        finally:
            self._here.rest()  # a process that lives for weeks needs no syntax trees
        return "; ".join(one.words for one in found.values() if one.words)
