"""A source distribution: a tar file, which has to be read whole."""

from __future__ import annotations

import contextlib
import gzip
import io
import tarfile
import zlib
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import (
    MAX_ALL,
    MAX_DOWNLOAD,
    MAX_FILE,
    ArchiveMember,
    check_name,
    check_size,
    is_python,
)
from patchkit.upstream.reading.archived import Archived
from patchkit.upstream.reading.cache import Cache
from patchkit.upstream.reading.layout import by_installed_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from patchkit.upstream.reading.archive import Listing
    from patchkit.upstream.reading.source import ReleaseSource

SUFFIX = ".tar.gz"


class SdistReader:
    """
    Reads a source distribution.

    Args:
        obtain: brings the file to this machine, says where it lies, and may take it away again.

    """

    def __init__(self, obtain: Callable[[], AbstractContextManager[Path]]) -> None:
        self._obtain = obtain

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files, which come along."""
        with self._obtain() as file:
            found = dict(_python_files(file))
        paths = by_installed_path(found)
        files = {path: found[inside] for path, inside in paths.items()}
        listing = {
            path: ArchiveMember(None, size=len(data), crc=zlib.crc32(data))
            for path, data in files.items()
        }
        return listing, files

    def fetch(self, members: Listing) -> dict[str, bytes]:  # noqa: ARG002 - all come along
        """Read its files."""
        return self.listing()[1]


def _python_files(file: Path) -> Iterator[tuple[str, bytes]]:
    """Every Python file, by its path in the directory that holds everything."""
    try:
        with gzip.open(file) as stream, tarfile.open(fileobj=_Bounded(stream)) as archive:
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


def _check_total(size: int, limit: int) -> None:
    if size > limit:
        raise UpstreamError(f"it unpacks to more than {limit:,} bytes")


class _Bounded(io.RawIOBase):
    """
    What an archive unpacks to, up to a limit.

    `tarfile` believes the sizes that headers state, and would read a header of any size.
    """

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET:
            _check_total(offset, MAX_DOWNLOAD)
        return self._stream.seek(offset, whence)

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_FILE:
            raise UpstreamError(f"a header in it states {size:,} bytes")
        return self._stream.read(size)


def open_sdist(file: Path) -> ReleaseSource:
    """
    Open a source distribution's file.

    Raises:
        UpstreamError: its name is none of a source distribution.

    """
    name, _, version = file.name.removesuffix(SUFFIX).rpartition("-")
    if not file.name.endswith(SUFFIX) or not name:
        raise UpstreamError(
            f"found {str(file)!r}, expected a source distribution such as vllm-0.32.0.tar.gz"
        )
    reader = SdistReader(lambda: contextlib.nullcontext(file))
    return Archived(f"sdist {file.name}", version, str(file), reader, Cache(None).shelf(""))
