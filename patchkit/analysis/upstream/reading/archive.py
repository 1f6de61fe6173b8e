"""A release in an archive: what has been read once is kept, the rest is fetched when asked for.

A file from an index is a stranger's: names that point outside, sizes that lie and archives made to
fill the memory are refused, with the reason.
"""

import contextlib
import gzip
import json
import re
import tarfile
import threading
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
from patchkit.errors import UnreachableError, UpstreamError

Span = tuple[int, int]  # from this byte of a file up to, not including, that one

MAX_ALL = 1 << 30  # bytes of all Python files of an archive that is read whole
MAX_DOWNLOAD = 4 << 30  # bytes of an archive that is fetched whole, and of what one unpacks to

_ODD = re.compile(r"[\x00-\x1f\x7f\\]|^/|^[A-Za-z]:|(^|/)\.\.?(/|$)")


class ArchiveMember(NamedTuple):
    """One file within an archive: bytes packed and unpacked, CRC-32 and method of compression."""

    start: int = 0  # of its header
    end: int = 0  # of its data; 0 where only the cache has it
    packed: int = 0
    size: int = 0
    crc: int = 0
    method: int = zipfile.ZIP_STORED


Listing = dict[str, ArchiveMember]
"""The Python files and extension modules of an archive, by their paths when installed."""


class Reader(Protocol):
    """One archive, in its own format; UpstreamError where it is not what it should be."""

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files; with them, where the archive had to be brought here whole."""

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read some of the files of its listing; others may come along."""


@dataclass(eq=False)
class Archived:
    """A `ReleaseSource`. Sixty questions about a broken wheel are one error, and one request."""

    name: str  # for messages, such as `vllm 0.32.0`
    version: str | None
    place: str  # the archive, for messages
    reader: Reader
    cache: Cache = field(default_factory=lambda: Cache(None))
    key: str = ""  # says in the cache which bytes the archive has, such as `sha256:…`
    project: str = ""  # whose releases share files of the same path, size and checksum
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False)
    _listing: Listing | None = field(default=None, init=False)
    _failure: UpstreamError | None = field(default=None, init=False)

    def read(self, path: str) -> bytes | None:
        """One Python file; None where there is no such file."""
        member = self._members([path]).get(path)
        if member is None or not is_python(path):
            return None
        kept = self.cache.get(self._name(path, member.size, member.crc))
        # The cache vouches for content, and this for its place.
        is_right = kept is not None and zlib.crc32(kept) == member.crc
        return kept if is_right else self._fetch([path])[path]

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._opened()

    def paths(self) -> frozenset[str]:
        """Every `.py`, `.pyi` and extension module of the release."""
        return frozenset(self._opened())

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content from another by what the table of contents says of it."""
        member = self._members([path]).get(path)
        return ContentMark(member.size, member.crc) if member else None

    def prefetch(self, paths: Iterable[str]) -> None:
        """Fetch those of the files that there are and that have not been kept."""
        missing = [
            path
            for path, one in self._members(paths).items()
            if not self.cache.has(self._name(path, one.size, one.crc))
        ]
        if missing:
            self._fetch(sorted(missing))

    def _members(self, paths: Iterable[str]) -> Listing:
        listing = self._opened()
        return {path: ArchiveMember(*listing[path]) for path in paths if path in listing}

    def _opened(self) -> Listing:
        with self._lock:
            if self._listing is None:
                kept = self.cache.get(f"files {self.key}")
                self._listing = json.loads(kept) if kept else self._listed()
            return self._listing

    def _listed(self) -> Listing:
        with self._failing_once():
            listing, files = self.reader.listing()
        self._keep(files)
        # Last: a listing without its files would claim what is not there.
        self.cache.put(f"files {self.key}", json.dumps(listing).encode())
        return listing

    def _fetch(self, paths: Collection[str]) -> dict[str, bytes]:
        with self._lock:
            members = self._members(paths)
            with self._failing_once():
                files = self.reader.fetch(members)
            self._keep(files)
            return files

    def _keep(self, files: dict[str, bytes]) -> None:
        for path, content in files.items():
            self.cache.put(self._name(path, len(content), zlib.crc32(content)), content)

    def _name(self, path: str, size: int, checksum: int) -> str:
        return f"member {self.project} {size:x} {checksum:x}\0{path}"

    @contextlib.contextmanager
    def _failing_once(self) -> Iterator[None]:
        if self._failure:
            raise self._failure
        try:
            yield
        except UpstreamError as error:
            kept = "; it is not in the cache" if isinstance(error, UnreachableError) else ""
            self._failure = UpstreamError(f"{self.name}: {self.place}: {error}{kept}")
            raise self._failure from error


def check_name(name: str) -> None:
    """Refuse what no packaging tool writes: a path that leads out, or control characters."""
    if _ODD.search(name):
        raise UpstreamError(f"it holds a file named {name[:200]!r}, which leads out of the archive")


SUFFIX = ".tar.gz"

_NOT_INSTALLED = frozenset({"benchmarks", "doc", "docs", "examples", "test", "tests", "tools"})


@dataclass(frozen=True)
class SdistReader:
    """Reads a source distribution, which has to be read whole; see `wheel` for the others."""

    obtain: Callable[[], AbstractContextManager[Path]]  # brings the file here for a time

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files, which come along."""
        with self.obtain() as file:
            contents = dict(_python_files(file))
        files = {path: contents[inside] for path, inside in _by_installed_path(contents).items()}
        listing = {
            path: ArchiveMember(size=len(data), crc=zlib.crc32(data))
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
