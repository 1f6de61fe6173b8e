"""A release in an archive: what has been read once is kept, the rest is fetched when asked for."""

from __future__ import annotations

import contextlib
import threading
import zlib
from typing import TYPE_CHECKING, Protocol

from patchkit.errors import UnreachableError, UpstreamError
from patchkit.upstream.reading.archive import Lines, is_python, to_text
from patchkit.upstream.reading.source import ContentMark

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from patchkit.upstream.reading.archive import Listing
    from patchkit.upstream.reading.cache import ArchiveShelf


class Reader(Protocol):
    """One archive, in its own format."""

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """
        List its Python files; with them, where the archive had to be brought here whole.

        Raises:
            UpstreamError: it cannot be fetched, or is not what it should be.

        """

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """
        Read some of the files of its listing; others may come along.

        Raises:
            UpstreamError: they cannot be fetched, or are not what they should be.

        """


class Archived:
    """
    A release in an archive.

    What has failed once fails again with the same words: sixty questions about a broken wheel are
    one error, and one request.

    Args:
        name: for messages, such as `vllm 0.32.0`.
        version: as released, None where unknown.
        place: the archive, for messages.
        reader: reads it.
        shelf: keeps what has been read.

    """

    def __init__(
        self, name: str, version: str | None, place: str, reader: Reader, shelf: ArchiveShelf
    ) -> None:
        self.name = name
        self.version = version
        self._place = place
        self._reader = reader
        self._shelf = shelf
        self._lock = threading.RLock()
        self._lines: Lines | None = None
        self._failure: UpstreamError | None = None

    def read(self, path: str) -> bytes | None:
        """
        One file; None where there is no such file.

        Raises:
            UpstreamError: the release cannot be read.

        """
        member = self._opened().known([path]).get(path)
        if member is None or not is_python(path):
            return None
        found = self._shelf.read(path)
        # The shelf vouches for content, and this for its place.
        is_right = found is not None and zlib.crc32(found) == member.crc
        return found if is_right else self._fetch([path])[path]

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        return path in self._opened()

    def paths(self) -> frozenset[str]:
        """Every `.py`, `.pyi` and extension module of the release."""
        return frozenset(self._opened())

    def mark(self, path: str) -> ContentMark | None:
        """Tell a file's content from another by what the table of contents says of it."""
        member = self._opened().known([path]).get(path)
        return ContentMark(member.size, member.crc) if member else None

    def prefetch(self, paths: Iterable[str]) -> None:
        """
        Fetch those of the files that there are and that have not been kept.

        Raises:
            UpstreamError: the release cannot be read.

        """
        wanted = list(self._opened().known(paths))
        missing = set(wanted) - self._shelf.held(wanted)
        if missing:
            self._fetch(sorted(missing))

    def _opened(self) -> Lines:
        with self._lock:
            if self._lines is None:
                self._lines = Lines(self._shelf.listing() or self._listed())
            return self._lines

    def _listed(self) -> str:
        with self._failing_once():
            listing, files = self._reader.listing()
        self._shelf.keep(files)
        text = to_text(listing)
        # Last: a listing without its files would claim what is not there.
        self._shelf.keep_listing(text)
        return text

    def _fetch(self, paths: Collection[str]) -> dict[str, bytes]:
        with self._lock:
            members = self._opened().known(paths)
            with self._failing_once():
                files = self._reader.fetch(members)
            self._shelf.keep(files)
            return files

    @contextlib.contextmanager
    def _failing_once(self) -> Iterator[None]:
        if self._failure:
            raise self._failure
        try:
            yield
        except UpstreamError as error:
            kept = "; it is not in the cache" if isinstance(error, UnreachableError) else ""
            self._failure = UpstreamError(f"{self.name}: {self._place}: {error}{kept}")
            raise self._failure from error
