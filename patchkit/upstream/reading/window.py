"""The end of a file as a file of its own: what `zipfile` reads of an archive's contents table."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError
from patchkit.upstream.reading.archive import MAX_DIRECTORY, list_members

if TYPE_CHECKING:
    from patchkit.upstream.reading.archive import Listing
    from patchkit.upstream.reading.content import Content

_FIRST_LOOK = 64 << 10


class _Window(io.RawIOBase):
    """
    A file of which only the end is fetched, and more of it as `zipfile` goes back.

    What is held is always one piece that ends where the file does.
    """

    def __init__(self, content: Content) -> None:
        self._content = content
        self._held, self._size = content.tail(_FIRST_LOOK)
        self._position = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        position = bases[whence] + offset
        if position < 0:
            raise OSError(f"position {position} lies before the file")
        self._position = position
        return position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        if end <= self._position:
            return b""
        self._reach(self._position)
        start = self._position - (self._size - len(self._held))
        data = self._held[start : start + end - self._position]
        self._position = end
        return data

    def _reach(self, position: int) -> None:
        known_from = self._size - len(self._held)
        if position >= known_from:
            return
        if self._size - position > MAX_DIRECTORY:
            raise UpstreamError(f"its table of contents has more than {MAX_DIRECTORY:,} bytes")
        self._held = self._content.fetch([(position, known_from)])[0] + self._held


def read_listing(content: Content) -> Listing:
    """
    Read a zip archive's table of contents.

    Raises:
        NoRangesError: the file can only be had whole.
        UpstreamError: it cannot be fetched, or is no wheel's.

    """
    try:
        with zipfile.ZipFile(_Window(content)) as archive:
            return list_members(archive)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError) as error:
        raise UpstreamError(f"it is no zip archive, or is cut off ({error})") from error
