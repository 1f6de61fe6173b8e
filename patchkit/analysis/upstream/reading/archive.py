"""Reads a release from an archive: files that were read before from the cache, others from it.

An archive from an index may be hostile: names that lead out of it, wrong sizes and archives made
to fill the memory are refused with an error that says why.
"""

import contextlib
import gzip
import json
import os
import re
import tarfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.files import (
    MAX_FILE,
    ROOTS,
    ContentMark,
    check_size,
    is_python,
)
from patchkit.core.plain_files import open_plain
from patchkit.errors import UnreachableError, UpstreamError

Span = tuple[int, int]
"""A part of a file: its first byte, and the byte after its last."""

MAX_ALL = 1 << 30
"""Bytes of all Python files of an archive that is read whole."""
MAX_DOWNLOAD = 4 << 30
"""Bytes of an archive that is fetched whole, and of what one unpacks to."""
_MAX_HEADER = 16 << 10
"""Bytes of a header of a tar archive; `tarfile` takes seconds for one of 100,000."""
_PATIENCE = 60.0
"""Seconds after which an archive is given up; that of vLLM takes two."""
_NO_ARCHIVE = (
    tarfile.TarError,
    OSError,
    EOFError,
    zlib.error,
    ValueError,
    OverflowError,
    RecursionError,
)
"""What `tarfile` raises for what it cannot read; the last for a chain of headers."""
_MAX_MEMBERS = 200_000
"""Files and folders in an archive; millions of empty ones compress to little."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_NAME = re.compile(r"[\x00-\x1f\x7f\\]|^/|^[A-Za-z]:|(^|/)\.\.?(/|$)")
"""Finds control characters, a backslash, `/` or `C:` at the beginning, and a part `.` or `..`."""


class ArchiveMember(NamedTuple):
    """One file within an archive, as its table of contents has it.

    Args:
        start: The byte at which its header begins.
        end: The byte after its data; 0 in a source distribution, which is read whole.
        packed: Bytes of its packed data.
        size: Bytes of its content.
        crc: CRC-32 of its content.
        method: How it is packed, a number of `zipfile`.
    """

    start: int = 0
    end: int = 0
    packed: int = 0
    size: int = 0
    crc: int = 0
    method: int = zipfile.ZIP_STORED


Listing = dict[str, ArchiveMember]
"""The Python files and extension modules of an archive, by their paths when installed."""


class Reader(Protocol):
    """Reads one archive of some format; raises UpstreamError where it is not a valid one."""

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its files.

        Returns:
            The listing, and the contents of all Python files if the archive had to be fetched
            whole.
        """

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read some of its files.

        Args:
            members: The files of its listing that are needed.

        Returns:
            Their contents by path; there may be those of other files, too.
        """


@dataclass(eq=False)
class Archived:
    """A `ReleaseSource`: an archive, whose files are stored in a cache.

    Its first error is raised again by every later call, so that a broken wheel costs one request.

    Args:
        name: Its name in messages, such as `vllm 0.32.0`.
        version: As released; None where unknown.
        location: The archive, for messages.
        reader: Reads the archive.
        cache: Stores its files; in memory by default.
        key: Identifies the content of the archive in the cache, such as `sha256:…`.
        project: The project; its releases share entries of the cache for equal files.
    """

    name: str
    version: str | None
    location: str
    reader: Reader
    cache: Cache = field(default_factory=lambda: Cache(None))
    key: str = ""
    project: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)
    _members: Listing | None = field(default=None, init=False)
    _failure: UpstreamError | None = field(default=None, init=False)

    def read(self, path: str) -> bytes | None:
        """Read the Python file at `path`; return None where there is none."""
        member = self._member(path)
        if member is None or not is_python(path):
            return None
        content = self.cache.get(self._cache_key(path, member.size, member.crc))
        # The key has the checksum, too, but the cache does not check that.
        if content is not None and zlib.crc32(content) == member.crc:
            return content
        return self._fetch([path])[path]

    def has(self, path: str) -> bool:
        """Whether there is a file at `path`."""
        return path in self._listing()

    def paths(self) -> frozenset[str]:
        """Return every `.py`, `.pyi` and extension module of the release."""
        return frozenset(self._listing())

    def mark(self, path: str) -> ContentMark | None:
        """Return size and checksum of the file at `path`; None where there is none."""
        member = self._member(path)
        if member is None:
            return None
        return ContentMark(member.size, member.crc)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch the files at `paths` that exist, and that the cache does not have."""
        listing = self._listing()
        missing = []
        for path in listing.keys() & set(paths):
            member = ArchiveMember(*listing[path])  # a list, if it is from the cache
            if not self.cache.has(self._cache_key(path, member.size, member.crc)):
                missing.append(path)
        if missing:
            self._fetch(sorted(missing))

    def _member(self, path: str) -> ArchiveMember | None:
        """Return the entry of a file in the listing; None where there is none."""
        member = self._listing().get(path)
        if member is None:
            return None
        return ArchiveMember(*member)  # a list if it is from the cache, as JSON has it

    def _listing(self) -> Listing:
        """Return the listing, from the cache if it is there."""
        with self._lock:
            if self._members is None:
                stored = self.cache.get(self._listing_key())
                self._members = json.loads(stored) if stored else self._fetch_listing()
            return self._members

    def _fetch_listing(self) -> Listing:
        """Read the listing from the archive, and store it with the contents that come with it."""
        with self._failing_once():
            listing, contents = self.reader.listing()
        self._store(contents)
        # After the contents, so that a listing in the cache is never without them.
        self.cache.put(self._listing_key(), json.dumps(listing).encode())
        return listing

    def _fetch(self, paths: Collection[str]) -> dict[str, bytes]:
        """Read files from the archive, and store them; return their contents by path."""
        with self._lock:
            listing = self._listing()
            members = {path: ArchiveMember(*listing[path]) for path in paths}
            with self._failing_once():
                contents = self.reader.fetch(members)
            self._store(contents)
            return contents

    def _store(self, contents: dict[str, bytes]) -> None:
        for path, content in contents.items():
            key = self._cache_key(path, len(content), zlib.crc32(content))
            self.cache.put(key, content)

    def _cache_key(self, path: str, size: int, checksum: int) -> str:
        return f"member {self.project} {size:x} {checksum:x}\0{path}"

    def _listing_key(self) -> str:
        return f"files {self.key}"

    @contextlib.contextmanager
    def _failing_once(self) -> Iterator[None]:
        """Name the archive in an error from the context; raise it again in any later context.

        So an archive that cannot be read is asked for once, not once for each file.
        """
        if self._failure:
            raise self._failure
        try:
            yield
        except UpstreamError as error:
            hint = ""
            if isinstance(error, UnreachableError):
                hint = "; it is not in the cache"
            self._failure = UpstreamError(
                f"{self.name}: {self.location}: {error}{hint}"
            )
            raise self._failure from error


def check_name(name: str) -> None:
    """Refuse the name of a file that no packaging tool writes.

    Args:
        name: The path of the file within an archive.

    Raises:
        UpstreamError: It leads out of the archive, or has control characters.
    """
    if _BAD_NAME.search(name):
        fault = "which leads out of the archive"
        if _CONTROL.search(name):
            fault = "which has control characters"
        raise UpstreamError(f"it holds a file named {name[:200]!r}, {fault}")


SUFFIX = ".tar.gz"
"""How the name of a source distribution ends."""

_NOT_INSTALLED = frozenset(
    {"benchmarks", "doc", "docs", "examples", "test", "tests", "tools"}
)
"""Folders of a source distribution that are for the project's own use, even if packages."""


@dataclass(frozen=True)
class SdistReader:
    """Reads a source distribution, which has to be read whole; `WheelReader` reads wheels.

    Args:
        obtain: Fetches the file; it lies on this machine until the context ends.
    """

    obtain: Callable[[], AbstractContextManager[Path]]

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files; return the listing, and their contents."""
        with self.obtain() as file:
            tree = dict(_python_files(file))
        listing = {}
        contents = {}
        for path, path_in_tree in _by_installed_path(tree).items():
            content = tree[path_in_tree]
            listing[path] = ArchiveMember(size=len(content), crc=zlib.crc32(content))
            contents[path] = content
        return listing, contents

    def fetch(self, members: Listing) -> dict[str, bytes]:  # noqa: ARG002 - all come along
        """Read all of its Python files, the `members` among them; return the contents by path."""
        _, contents = self.listing()
        return contents


def _python_files(file: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each Python file of an archive.

    Raises:
        UpstreamError: It is not a valid archive, or too large.
    """
    try:
        with (
            open_plain(file) as packed,
            _Bounded(fileobj=packed) as stream,
            tarfile.open(fileobj=stream, mode="r:") as archive,  # the stream unpacks
        ):
            yield from _python_members(archive, stream)
    except _NO_ARCHIVE as error:
        reason = f"it is not a gzip-compressed tar archive, or is truncated ({error})"
        raise UpstreamError(reason) from error


def _python_members(
    archive: tarfile.TarFile, unpacked: "_Bounded"
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each Python file, without the folder that has them all."""
    total = 0
    began = time.monotonic()
    for number, member in enumerate(archive):
        if number == _MAX_MEMBERS:
            raise UpstreamError(f"it has more than {_MAX_MEMBERS:,} files")
        if time.monotonic() - began > _PATIENCE:
            raise UpstreamError(f"to unpack it takes more than {_PATIENCE:.0f} s")
        check_name(member.name.rstrip("/") or ".")  # an empty name is refused as `.` is
        path = member.name.partition("/")[2]  # `vllm-0.32.0/vllm/x.py` is `vllm/x.py`
        if member.isfile() and is_python(path):
            check_size(path, member.size)
            total += member.size
            _check_total(total, MAX_ALL)
            stream = archive.extractfile(member)
            assert stream is not None  # it is a file
            unpacked.limit = MAX_FILE
            content = stream.read()
            unpacked.limit = _MAX_HEADER
            yield path, content


class _Bounded(gzip.GzipFile):
    """A gzip file that refuses to unpack too much: `tarfile` trusts the sizes in the archive."""

    limit = _MAX_HEADER
    """Bytes that may be read at once: those of a header, or of a Python file."""

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move as a gzip file does; `tarfile` skips by this what is not read."""
        _check_total(offset, MAX_DOWNLOAD)
        is_back = whence == os.SEEK_SET and offset < super().seek(0, os.SEEK_CUR)
        if is_back:
            raise UpstreamError("a header in it leads back to what was read")
        return super().seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        """Read as a gzip file does; refuse a size that no Python file or header has."""
        assert size is not None  # tarfile states a number
        if not 0 <= size <= self.limit:
            raise UpstreamError(f"a header in it states {size:,} bytes")
        return super().read(size)


def _check_total(size: int, limit: int) -> None:
    if size > limit:
        raise UpstreamError(f"it unpacks to more than {limit:,} bytes")


def _by_installed_path(paths: Iterable[str]) -> dict[str, str]:
    """Map paths below site-packages to those in a source distribution, of its packages only.

    `vllm/config.py` is mapped to `src/vllm/config.py`; what is in no package is left out.

    Args:
        paths: The paths of the files in the source distribution.
    """
    paths_in_tree = set(paths)
    by_installed_path: dict[str, str] = {}
    # The first of the roots wins, so it is the last to be entered.
    for root in reversed(ROOTS):
        for path_in_tree in paths_in_tree:
            if not path_in_tree.startswith(root):
                continue
            path = path_in_tree.removeprefix(root)
            package = path.partition("/")[0]
            if package in _NOT_INSTALLED:
                continue
            if f"{root}{package}/__init__.py" in paths_in_tree:
                by_installed_path[path] = path_in_tree
    return by_installed_path
