"""Finds the files of an installed distribution that somebody has edited, and restores them."""

import base64
import csv
import hashlib
import math
import time
from collections.abc import Iterable
from importlib.metadata import Distribution, FileHash
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.upstream.reading.files import ReleaseSource, is_python
from patchkit.authoring.diffs.diff_files import Differing
from patchkit.authoring.diffs.diff_paths import MODULE
from patchkit.authoring.scaffold.files import PlannedFile, write
from patchkit.core.versions.distributions import readable_distributions
from patchkit.errors import ScaffoldError, UpstreamError

_HASHES = ("sha256", "sha384", "sha512")
"""The algorithms that RECORD may use; a file with another one counts as one without a hash."""


class _InstalledFile(NamedTuple):
    """A file of an installed distribution.

    Args:
        path: where it is installed.
        recorded: the hash of its content as installed, from the distribution's RECORD.
    """

    path: Path
    recorded: FileHash

    def read(self) -> bytes | None:
        """Read what the file contains now; None if it was deleted.

        Raises:
            UpstreamError: it cannot be read.
        """
        try:
            return self.path.read_bytes() if self.path.is_file() else None
        except OSError as error:
            reason = error.strerror or error
            raise UpstreamError(f"{self.path}: cannot be read ({reason})") from error

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
        UpstreamError: it is not installed, or its installer has recorded no hashes; or its RECORD
            is malformed.
    """

    def __init__(self, name: str) -> None:
        installed = next(readable_distributions(name=name), None) if name else None
        if installed is None:
            raise UpstreamError(
                f"found no installed distribution {name!r}, expected a name that 'pip list' has"
            )
        # By path in RECORD, the Python files whose hash it has; and the paths of all files in it.
        self._files: dict[str, _InstalledFile] = {}
        self._recorded: set[str] = set()
        self._distribution = installed
        # Not `installed.files`: from Python 3.12 on, it leaves out files that are missing.
        for path, *hash_and_size in _record_of(installed, name):
            self._recorded.add(path)
            # RECORD has no hash of itself, and none of compiled files.
            recorded = FileHash("".join(hash_and_size[:1]))
            if recorded.mode in _HASHES and is_python(path):
                self._files[path] = _InstalledFile(self._locate(path), recorded)
        if not self._files:
            raise UpstreamError(
                f"{name}: found no hashes of its files, which tell what was edited, expected a "
                "distribution that pip or uv has installed from a wheel"
            )
        self.version = installed.version

    def _locate(self, path: str) -> Path:
        """Return where a file of RECORD is."""
        return Path(str(self._distribution.locate_file(path)))

    def compare(self, preferred: Iterable[str], deadline: float) -> FileComparison:
        """Compare files with their recorded hashes until a deadline, the last written ones first.

        Args:
            preferred: the paths of files that are compared before these, even after the deadline.
            deadline: the end, on the clock of `time.monotonic`.

        Returns:
            The files that differ, and how many were compared.
        """
        first_paths = [path for path in dict.fromkeys(preferred) if path in self._files]
        edited = []
        compared = 0
        latest_first = sorted(self._files, key=self._written, reverse=True)
        for path in dict.fromkeys([*first_paths, *latest_first]):
            if compared >= len(first_paths) and time.monotonic() > deadline:
                break
            compared += 1
            if self._is_edited(path):
                edited.append(path)
        return FileComparison(edited, compared, len(self._files))

    def _written(self, path: str) -> float:
        """Return when a file was last written; a deleted file counts as the latest of all."""
        try:
            return self._files[path].path.stat().st_mtime
        except (OSError, ValueError):  # a name in RECORD may have a null character
            return math.inf

    def _is_edited(self, path: str) -> bool:
        """Return whether a file was changed or deleted since the installation."""
        file = self._files[path]
        return not file.is_original(file.read())

    def _added(self) -> dict[str, Path]:
        """Return the Python files that somebody has added to the packages, by their paths.

        A package counts if its `__init__.py` is of this distribution; in others, other
        distributions may have files.
        """
        added: dict[str, Path] = {}
        packages = {path.partition("/")[0] for path in self._files}
        for package in sorted(packages):
            folder = self._locate(package)
            if f"{package}/__init__.py" not in self._files:
                continue
            for file in sorted(folder.rglob("*.py")):
                path = f"{package}/{file.relative_to(folder).as_posix()}"
                if path not in self._recorded and MODULE.fullmatch(path):
                    added[path] = file
        if added:
            # Nobody has added a file that another distribution has brought along.
            for distribution_here in readable_distributions():
                try:
                    rows = _record_of(distribution_here, "another distribution")
                except UpstreamError:
                    continue  # its files are not known
                for path, *_ in rows:
                    added.pop(path, None)
        return added

    def differing(self, source: ReleaseSource) -> list[Differing]:
        """Return each edited file with its content in the release and its content here.

        Files that somebody has added have no content in the release.

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
        for path, added in self._added().items():
            files.append(Differing(path, None, added.read_bytes()))
        return files

    def restore(self, files: Iterable[Differing]) -> None:
        """Restore files to what was installed: all of them, or none; delete those that were added.

        Args:
            files: what `differing` returned, or a part of it.

        Raises:
            ScaffoldError: a file cannot be written, or has changed since `differing` read it.
        """
        restored: list[PlannedFile] = []
        added: list[Path] = []
        for file in files:
            path = self._locate(file.path)
            if file.old is None and file.path not in self._files:
                added.append(path)
                continue
            # `old` is never None here: `differing` has compared it. `new` may be: the file is gone.
            original = file.old or b""
            restored.append(PlannedFile("module", path, new=original, old=file.new))
        try:
            write(restored)
            for path in added:
                path.unlink()
        except (ScaffoldError, OSError) as error:
            raise ScaffoldError(
                f"the rows are written, no file is given back: {error}"
            ) from error


def _record_of(installed: Distribution, name: str) -> list[list[str]]:
    """Read the RECORD of a distribution: for each file its path, and its hash and size if known.

    Args:
        installed: the distribution.
        name: its name, for the error.

    Raises:
        UpstreamError: RECORD is no such list.
    """
    try:
        text = installed.read_text("RECORD") or ""
        rows = list(csv.reader(text.splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise UpstreamError(
            f"{name}: found a RECORD that cannot be read ({error}), expected the paths and hashes "
            "of its files; install it again"
        ) from error
    return list(filter(None, rows))  # without empty lines
