"""A source distribution: a tar file, which has to be read whole."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import MAX_ALL, MAX_DOWNLOAD, ArchiveMember, check_name
from patchkit.upstream.reading.files import MAX_FILE, ROOTS, check_size, is_python

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from patchkit.upstream.reading.archive import Listing

SUFFIX = ".tar.gz"

_NOT_INSTALLED = frozenset({"benchmarks", "doc", "docs", "examples", "test", "tests", "tools"})


@dataclass(frozen=True)
class SdistReader:
    """Reads a source distribution."""

    obtain: Callable[[], AbstractContextManager[Path]]  # brings the file here for a time

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files, which come along."""
        with self.obtain() as file:
            contents = dict(_python_files(file))
        files = {path: contents[inside] for path, inside in _by_installed_path(contents).items()}
        listing = {
            path: ArchiveMember(None, size=len(data), crc=zlib.crc32(data))
            for path, data in files.items()
        }
        return listing, files

    def fetch(self, members: Listing) -> dict[str, bytes]:  # noqa: ARG002 - all come along
        """Read its files."""
        return self.listing()[1]


def _python_files(file: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with _Bounded(file) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            yield from _members(archive)
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        reason = f"it is no tar archive compressed with gzip, or is cut off ({error})"
        raise UpstreamError(reason) from error


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    kept = 0
    for member in archive:
        check_name(member.name.rstrip("/") or ".")
        inside = member.name.partition("/")[2]
        if member.isfile() and is_python(inside):
            check_size(inside, member.size)
            kept += member.size
            _check_total(kept, MAX_ALL)
            stream = archive.extractfile(member)
            assert stream is not None  # it is a file
            yield inside, stream.read()


class _Bounded(gzip.GzipFile):
    """What an archive unpacks to, up to a limit: `tarfile` believes whatever sizes it states."""

    def seek(self, offset: int, whence: int = 0) -> int:
        _check_total(offset, MAX_DOWNLOAD)
        return super().seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None  # tarfile states a number
        if not 0 <= size <= MAX_FILE:
            raise UpstreamError(f"a header in it states {size:,} bytes")
        return super().read(size)


def _check_total(size: int, limit: int) -> None:
    if size > limit:
        raise UpstreamError(f"it unpacks to more than {limit:,} bytes")


def _by_installed_path(paths: Iterable[str]) -> dict[str, str]:
    """Map installed paths to those in the tree, of packages not for the project's own use."""
    files = set(paths)
    found: dict[str, str] = {}
    for root in reversed(ROOTS):
        for path in (path for path in files if path.startswith(root)):
            package, _, _ = path[len(root) :].partition("/")
            if f"{root}{package}/__init__.py" in files and package not in _NOT_INSTALLED:
                found[path[len(root) :]] = path
    return found
