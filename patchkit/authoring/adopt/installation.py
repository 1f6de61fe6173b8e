"""Finds the files of an installed distribution that somebody has edited, and restores them."""

import base64
import csv
import hashlib
import math
import time
from collections.abc import Iterable
from importlib.metadata import FileHash, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import ReleaseSource, is_python
from patchkit.authoring.adopt.differing import Differing
from patchkit.authoring.scaffold.files import PlannedFile, write
from patchkit.errors import ScaffoldError, UpstreamError


class _InstalledFile(NamedTuple):
    """A file of an installed distribution.

    Args:
        path: where it is installed.
        recorded: the hash of its content as installed, from the distribution's RECORD.
    """

    path: Path
    recorded: FileHash

    def read(self) -> bytes | None:
        """Read what the file contains now; None if it was deleted."""
        return self.path.read_bytes() if self.path.is_file() else None

    def is_original(self, content: bytes | None) -> bool:
        """Return whether a content is the installed one, by its hash; None (no file) is not."""
        if content is None:
            return False
        digest = hashlib.new(self.recorded.mode, content).digest()
        text = base64.urlsafe_b64encode(digest).decode()
        # RECORD has the hash without the `=` that fill up the end of base64.
        return text.rstrip("=") == self.recorded.value


class FileComparison(NamedTuple):
    """How the files of an installed distribution compare with what was installed.

    Args:
        edited: the paths of those that differ, or are gone.
        compared: how many were compared.
        total: how many there are.
    """

    edited: list[str]
    compared: int
    total: int


class EditedInstallation:
    """An installed distribution whose files are compared with the hashes in its RECORD.

    Args:
        name: the name of the distribution.

    Raises:
        UpstreamError: it is not installed, or its installer has recorded no hashes.
    """

    def __init__(self, name: str) -> None:
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise UpstreamError(
                f"found no installed distribution {name!r}, expected a name that 'pip list' has"
            ) from None
        self._files: dict[str, _InstalledFile] = {}
        # Not `installed.files`: from Python 3.12 on, it leaves out files that are missing.
        record = installed.read_text("RECORD") or ""
        for path, *hash_and_size in csv.reader(record.splitlines()):
            # RECORD has no hash of itself, and none of compiled files.
            if hash_and_size and "=" in hash_and_size[0] and is_python(path):
                file = Path(str(installed.locate_file(path)))
                recorded = FileHash(hash_and_size[0])
                self._files[path] = _InstalledFile(file, recorded)
        if not self._files:
            raise UpstreamError(
                f"{name}: found no hashes of its files, which tell what was edited, expected a "
                "distribution that pip or uv has installed from a wheel"
            )
        self.version = installed.version

    def compare(self, first: Iterable[str], deadline: float) -> FileComparison:
        """Compare files with their recorded hashes until a deadline, the last written ones first.

        Args:
            first: the paths of files that are compared first, even after the deadline.
            deadline: the end, on the clock of `time.monotonic`.

        Returns:
            The files that differ, and how many were compared.
        """
        preferred = [path for path in dict.fromkeys(first) if path in self._files]
        edited = []
        compared = 0
        latest_first = sorted(self._files, key=self._written, reverse=True)
        for path in dict.fromkeys([*preferred, *latest_first]):
            if compared >= len(preferred) and time.monotonic() > deadline:
                break
            compared += 1
            if self._is_edited(path):
                edited.append(path)
        return FileComparison(edited, compared, len(self._files))

    def _written(self, path: str) -> float:
        """Return when a file was last written; a deleted file counts as the latest of all."""
        try:
            return self._files[path].path.stat().st_mtime
        except OSError:
            return math.inf

    def _is_edited(self, path: str) -> bool:
        """Return whether a file was changed or deleted since the installation."""
        file = self._files[path]
        return not file.is_original(file.read())

    def differing(self, source: ReleaseSource) -> list[Differing]:
        """Return each edited file with its content in the release and its content here.

        Args:
            source: the files of the installed release, as it was published.

        Raises:
            UpstreamError: the installation is another build of the release.
        """
        edited = list(filter(self._is_edited, self._files))
        source.prefetch(edited)
        files = [
            Differing(path, source.read(path), self._files[path].read())
            for path in edited
        ]
        for file in files:
            if not self._files[file.path].is_original(file.old):
                fault = f"found another {file.path} than was installed, expected the same build"
                raise UpstreamError(f"{source.name}: {fault}")
        return files

    def restore(self, files: Iterable[Differing]) -> None:
        """Restore files to what was installed: all of them, or none.

        Args:
            files: what `differing` returned, or a part of it.

        Raises:
            ScaffoldError: a file cannot be written, or has changed since `differing` read it.
        """
        restored: list[PlannedFile] = []
        for file in files:
            path = self._files[file.path].path
            # `old` is never None here: `differing` has compared it. `new` may be: the file is gone.
            original = file.old or b""
            restored.append(PlannedFile("module", path, new=original, old=file.new))
        try:
            write(restored)
        except ScaffoldError as error:
            raise ScaffoldError(
                f"the rows are written, no file is given back: {error}"
            ) from error
