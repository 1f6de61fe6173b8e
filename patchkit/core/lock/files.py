"""Which lock says what was reviewed for a row.

A pack brings its own: `patchkit.lock` in its folder or in one around it, up to the top of its
package, or at the root of the checkout that it lies in. `PATCHKIT_LOCK` names one for all. What an
installed pack brings is never lost: reviews of one's own are added to it.
"""

import functools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from patchkit.core.lock.format import Lock, read_lock, united
from patchkit.core.rows.declaration import Row
from patchkit.errors import LockError

NAME = "patchkit.lock"
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Locks:
    """The locks of this process, each read once; the one `named` is for all rows."""

    def __init__(self, named: str | None = None, here: Path | None = None) -> None:
        self._named = Path(named) if named else None
        # It adds to what packs bring that an installer has put there.
        self._here = here / NAME if here else None
        self._lock = functools.cache(read_lock)
        self._own: dict[str, Path | None] = {}

    def of(self, row: Row) -> Lock | None:
        """Return what was reviewed for a row; None for no lock, a LockError where one is none."""
        locks = [self._lock(file) for file in self._files(row)]
        return united(row.name, locks) if len(locks) > 1 else next(iter(locks), None)

    def file(self, row: Row) -> Path | None:
        """Find the lock that speaks of a row, the first of several; raise as `of` does."""
        return next(iter(self._files(row)), None)

    def _files(self, row: Row) -> list[Path]:
        is_elsewhere, own = self.home(row.pack) is None, self.own(row.pack)
        if self._named:
            if not self._named.is_file():
                raise LockError(f"found no file {str(self._named)!r}, expected a lock")
            return [self._named, own] if own and is_elsewhere else [self._named]
        here = self._here if self._here and is_elsewhere and self._here.exists() else None
        if here and own and row.name not in self._lock(here).entries:
            here = None
        return list(filter(None, (here, own)))

    def of_all(self, rows: Iterable[Row]) -> Lock:
        """Make one lock of those that speak of some rows; raise as `of` does."""
        locks = {row.name: lock for row in rows if (lock := self.of(row)) is not None}
        return Lock({name: lock.entries.get(name, {}) for name, lock in locks.items()})

    def own(self, pack: str) -> Path | None:
        """Find the lock that a pack brings."""
        if pack not in self._own:
            files = (folder / NAME for folder in _folders(pack))
            self._own[pack] = next((file for file in files if file.is_file()), None)
        return self._own[pack]

    @staticmethod
    def home(pack: str) -> Path | None:
        """Return where a pack's lock belongs: its folder; None where an installer has put that."""
        folder = next(_folders(pack), None)
        return None if folder is None or is_installed(folder) else folder / NAME


def is_installed(file: Path) -> bool:
    """Whether a file was put where it lies by an installer."""
    return not _INSTALLED.isdisjoint(file.parts)


def _folders(pack: str) -> Iterator[Path]:
    module = sys.modules.get(pack)
    places, file = [*getattr(module, "__path__", ())], getattr(module, "__file__", None)
    if not places and file and not is_installed(Path(file)):
        yield Path(file).parent  # a module by itself
    if not places:
        return
    folder = Path(places[0])
    for _ in pack.split("."):
        yield folder
        folder = folder.parent
    for root in (folder, folder.parent):
        if any((root / file).is_file() for file in _PROJECT):
            yield root
            return
