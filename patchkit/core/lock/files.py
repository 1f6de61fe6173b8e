"""Finds and reads the locks that say what was reviewed for a row.

A pack has a lock of its own: `patchkit.lock` in its folder or in one above, up to that of its
top-level package, or at the root of the checkout that it lies in. `PATCHKIT_LOCK` names one file
for all rows. The lock of an installed pack always counts: a user's own reviews are added to it.
"""

import functools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from patchkit.core.lock.format import Lock, Span, read_lock, united
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import parse_version
from patchkit.errors import LockError

NAME = "patchkit.lock"
_PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class Locks:
    """The locks of this process, each read once.

    Args:
        named: The lock for all rows, in place of those that packs bring.
        folder: A folder whose lock adds to those that installed packs bring.
    """

    def __init__(self, named: str | None = None, folder: Path | None = None) -> None:
        self._lock_of_all: Path | None = None
        if named:
            self._lock_of_all = Path(named)
        self._added_lock: Path | None = None
        if folder is not None:
            self._added_lock = folder / NAME
        self._read = functools.cache(read_lock)
        self._file_of_pack: dict[str, Path | None] = {}

    def of(self, row: Row) -> Lock | None:
        """Return a lock with what was reviewed for a row.

        Args:
            row: The row.

        Returns:
            The lock, which may have entries for other rows, too; None if there is none for the row.

        Raises:
            LockError: A lock is missing, cannot be read, or is malformed.
        """
        locks = [self._read(file) for file in self._files(row)]
        if not locks:
            return None
        if len(locks) == 1:
            return locks[0]
        return united(row.name, locks)

    def file(self, row: Row) -> Path | None:
        """Find the file of the lock for a row: the user's rather than that of an installed pack.

        Args:
            row: The row.

        Returns:
            The file, or None if there is no lock for the row.

        Raises:
            LockError: As `of` does.
        """
        files = self._files(row)
        if not files:
            return None
        return files[0]

    def _files(self, row: Row) -> list[Path]:
        """Return the files of the locks that may have a row, the user's before an installed pack's.

        Raises:
            LockError: The named lock is missing, or the user's cannot be read.
        """
        # A user cannot write into an installed pack, so has another lock for the reviews of it.
        is_foreign = self.home(row.pack) is None
        pack_lock = self.own(row.pack)
        files = []
        if self._lock_of_all is not None:
            if not self._lock_of_all.is_file():
                raise LockError(
                    f"found no file {str(self._lock_of_all)!r}, expected a lock"
                )
            files.append(self._lock_of_all)
            # The named lock replaces that of the user's own pack, and adds to an installed pack's.
            if pack_lock is not None and is_foreign:
                files.append(pack_lock)
            return files
        if is_foreign:
            files += self._added_files(row, pack_lock)
        if pack_lock is not None:
            files.append(pack_lock)
        return files

    def _added_files(self, row: Row, own: Path | None) -> list[Path]:
        """Return the lock in the user's folder for a row of an installed pack, if it is to be used.

        It is used if it has an entry for the row; without one, only if the pack brings no lock
        (`own` is None). If it is not used, or does not exist, the list is empty.
        """
        if self._added_lock is None or not self._added_lock.exists():
            return []
        if own is not None and row.name not in self._read(self._added_lock).entries:
            return []
        return [self._added_lock]

    def of_all(self, rows: Iterable[Row]) -> Lock:
        """Make one lock with all that was reviewed for some rows.

        Args:
            rows: The rows; entries for other rows are left out.

        Returns:
            The lock.

        Raises:
            LockError: As `of` does.
        """
        entries: dict[str, Mapping[str, Sequence[Span]]] = {}
        for row in rows:
            lock = self.of(row)
            if lock is not None:
                entries[row.name] = lock.entries.get(row.name, {})
                of_row = Lock({row.name: entries[row.name]})
                check_versions(self.file(row), of_row)
        return Lock(entries)

    def own(self, pack: str) -> Path | None:
        """Find the file of the lock that a pack brings.

        Args:
            pack: The dotted name of the pack, which has been imported.

        Returns:
            The file, or None if the pack brings no lock.
        """
        if pack not in self._file_of_pack:
            self._file_of_pack[pack] = _own_lock(pack)
        return self._file_of_pack[pack]

    @staticmethod
    def home(pack: str) -> Path | None:
        """Return the file where a pack's lock belongs, in the pack's folder.

        Args:
            pack: The dotted name of the pack, which has been imported.

        Returns:
            The file, which need not exist; None if an installer has put the folder there, or the
            pack has no folder.
        """
        folder = next(_folders(pack), None)
        if folder is None or is_installed(folder):
            return None
        return folder / NAME


def check_versions(file: Path | None, lock: Lock) -> None:
    """Refuse a lock with a version that is none. A process that is armed only compares them.

    Args:
        file: The file of the lock, for the error.
        lock: The lock.

    Raises:
        LockError: A version is none.
    """
    for patch, targets in lock.entries.items():
        for target, spans in targets.items():
            for version in {end for span in spans for end in (span.first, span.last)}:
                if parse_version(version) is None:
                    expected = "the version of a release such as '0.12.0'"
                    raise LockError(
                        f"{file}: {patch}, {target}: found {version!r}, expected {expected}"
                    )


def is_installed(file: Path) -> bool:
    """Whether an installer has put a file where it is: into `site-packages` or the like.

    Args:
        file: The file or folder.
    """
    return not _INSTALLED.isdisjoint(file.parts)


def _own_lock(pack: str) -> Path | None:
    """Find the lock of a pack in its own folder, or else in the nearest that may hold it."""
    for folder in _folders(pack):
        file = folder / NAME
        if file.is_file():
            return file
    return None


def _folders(pack: str) -> Iterator[Path]:
    """Yield the folders that may hold the lock of a pack, its own first.

    For the pack `a.b` these are `a/b` and `a`, and then the root of the checkout: the folder of `a`
    or the one above (for a layout `src/a`), whichever has a `pyproject.toml` or the like.
    """
    module = sys.modules.get(pack)
    package_folders = list(getattr(module, "__path__", ()))
    if not package_folders:
        file = getattr(module, "__file__", None)
        if file and not is_installed(Path(file)):
            yield Path(file).parent  # the pack is a plain module
        return
    folder = Path(package_folders[0])
    for _ in pack.split("."):  # up to the top-level package
        yield folder
        folder = folder.parent
    for root in (folder, folder.parent):
        if any((root / name).is_file() for name in _PROJECT):
            yield root
            return
