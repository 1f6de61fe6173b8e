"""Tells what somebody has edited in an installed distribution, and gives the files back."""

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
    """A file of an installed distribution, with the hash that its installer has recorded."""

    path: Path
    recorded: FileHash

    def read(self) -> bytes | None:
        """Read the file; None where there is none."""
        return self.path.read_bytes() if self.path.is_file() else None

    def was(self, content: bytes | None) -> bool:
        """Whether the file had this content when it was installed; None is no file."""
        if content is None:
            return False
        digest = hashlib.new(self.recorded.mode, content).digest()
        text = base64.urlsafe_b64encode(digest).decode()
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
    """What somebody has edited of an installed distribution, by the hashes of its RECORD.

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
        # Not `installed.files`, which leaves out what is gone from Python 3.12 on.
        record = installed.read_text("RECORD") or ""
        for path, *facts in csv.reader(record.splitlines()):
            if facts and "=" in facts[0] and is_python(path):
                place = Path(str(installed.locate_file(path)))
                self._files[path] = _InstalledFile(place, FileHash(facts[0]))
        if not self._files:
            raise UpstreamError(
                f"{name}: found no hashes of its files, which tell what was edited, expected a "
                "distribution that pip or uv has installed from a wheel"
            )
        self.version = installed.version

    def compare(self, first: Iterable[str], deadline: float) -> FileComparison:
        """Compare files with their hashes, those that were written last first, until time is over.

        Args:
            first: the paths of files that are compared first, and in any case.
            deadline: when to end, by `time.monotonic`.

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
        """Return when a file was written; one that is gone counts as written last."""
        try:
            return self._files[path].path.stat().st_mtime
        except OSError:
            return math.inf

    def _is_edited(self, path: str) -> bool:
        file = self._files[path]
        return not file.was(file.read())

    def differing(self, source: ReleaseSource) -> list[Differing]:
        """Return the files that differ from the release that the installation is of.

        Args:
            source: the files of the release.

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
            if not self._files[file.path].was(file.old):
                fault = f"found another {file.path} than was installed, expected the same build"
                raise UpstreamError(f"{source.name}: {fault}")
        return files

    def restore(self, files: Iterable[Differing]) -> None:
        """Give files back as they were installed: all of them, or none.

        Args:
            files: what `differing` returned, or a part of it.

        Raises:
            ScaffoldError: a file cannot be written, or has changed since.
        """
        try:
            write(
                PlannedFile(
                    "module", self._files[file.path].path, file.old or b"", file.new
                )
                for file in files
            )
        except ScaffoldError as error:
            raise ScaffoldError(
                f"the rows are written, no file is given back: {error}"
            ) from error
