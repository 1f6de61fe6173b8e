"""A wheel: its table of contents first, then only the files that are asked for."""

import io
import itertools
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from patchkit.analysis.upstream.reading.archive import (
    MAX_ALL,
    ArchiveMember,
    Listing,
    Span,
    check_name,
)
from patchkit.analysis.upstream.reading.files import check_size, is_listed, is_python
from patchkit.analysis.upstream.reading.replies import NoRangesError
from patchkit.analysis.upstream.reading.web import RemoteContent
from patchkit.errors import UpstreamError

MAX_DIRECTORY = 16 << 20  # bytes of a table of contents; those of vLLM's wheels have 0.5 MB

_FIRST_LOOK = 64 << 10
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 1
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_NOT_INSTALLED = re.compile(r"[^/]+\.(?:data|dist-info)/")
_NO_ZIP = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError)


@dataclass(frozen=True)
class LocalContent:
    """A file on this machine."""

    file: Path

    def tail(self, size: int) -> tuple[bytes, int]:
        """Read the last bytes, all where there are fewer, and tell how many there are in all."""
        try:
            total = self.file.stat().st_size
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        return self.fetch([(max(0, total - size), total)])[0], total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Read the spans, in their order, each in full."""
        try:
            with self.file.open("rb") as file:
                pieces = [os.pread(file.fileno(), end - start, start) for start, end in spans]
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        if [len(piece) for piece in pieces] != [end - start for start, end in spans]:
            raise UpstreamError("it is cut off")
        return pieces


@dataclass(frozen=True)
class WheelReader:
    """Reads a wheel wherever it lies."""

    content: LocalContent | RemoteContent
    download: Callable[[NoRangesError], AbstractContextManager[Path]] | None = None
    """Brings it here whole where its server knows no parts, as the error says."""

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List its Python files; they come along where it comes whole."""
        try:
            with zipfile.ZipFile(cast("IO[bytes]", _Window(self.content))) as archive:
                return _list_members(archive), {}
        except NoRangesError as error:
            return self._whole(error)
        except _NO_ZIP as error:
            raise UpstreamError(f"it is no zip archive, or is cut off ({error})") from error

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read files of its listing; all others come along where it comes whole."""
        for path, member in members.items():
            check_size(path, max(member.size, member.packed))
        spans = [(member.start, member.end) for member in members.values()]
        try:
            pieces = self.content.fetch(spans)
        except NoRangesError as error:
            return self._whole(error)[1]
        several = zip(members.items(), pieces, strict=True)
        return {path: _unpacked(path, member, piece) for (path, member), piece in several}

    def _whole(self, error: NoRangesError) -> tuple[Listing, dict[str, bytes]]:
        assert self.download is not None  # a file on this machine has parts
        with self.download(error) as file:
            local = WheelReader(LocalContent(file))
            listing, _ = local.listing()
            members = {path: member for path, member in listing.items() if is_python(path)}
            size = sum(member.size for member in members.values())
            if size > MAX_ALL:
                limit = f"archives of up to {MAX_ALL:,} are read"
                raise UpstreamError(f"its Python files have {size:,} bytes; {limit}")
            return listing, local.fetch(members)


class _Window:
    """A file of which one piece up to its end is held, a longer one as `zipfile` goes back."""

    def __init__(self, content: LocalContent | RemoteContent) -> None:
        self._content = content
        self._held, self._size = content.tail(_FIRST_LOOK)
        self._position = 0

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        if self._position < 0:
            raise OSError(f"position {self._position} lies before the file")
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._position + size, self._size)
        if end <= self._position:
            return b""
        known_from = self._size - len(self._held)
        if self._position < known_from:
            if self._size - self._position > MAX_DIRECTORY:
                raise UpstreamError(f"its table of contents has more than {MAX_DIRECTORY:,} bytes")
            self._held = self._content.fetch([(self._position, known_from)])[0] + self._held
        start = self._position - (self._size - len(self._held))
        data = self._held[start : start + end - self._position]
        self._position = end
        return data


def _list_members(archive: zipfile.ZipFile) -> Listing:
    """List the Python files and extension modules; refuse names that lead out, and overlaps."""
    members = archive.infolist()
    for member in members:
        check_name(member.orig_filename)
    offsets = {member.header_offset for member in members} | {archive.start_dir}
    ends = dict(itertools.pairwise(sorted(offsets)))
    return {
        path: _member(info, ends.get(info.header_offset, 0))
        for info in members
        if is_listed(path := _installed_path(info.filename))
    }


def _installed_path(name: str) -> str:
    """Where a wheel's member is installed, below site-packages; '' where elsewhere."""
    if inside := _DATA.match(name):
        return inside[1]
    return "" if _NOT_INSTALLED.match(name) else name


def _member(info: zipfile.ZipInfo, end: int) -> ArchiveMember:
    start = info.header_offset
    # What may lie between two members without belonging to either is not fetched.
    end = min(end, start + _LOCAL_HEADER.size + 2 * 0xFFFF + info.compress_size)
    if start < 0 or end - start < _LOCAL_HEADER.size + info.compress_size:
        raise UpstreamError(f"its members overlap, at {info.filename}")
    if info.flag_bits & _ENCRYPTED:
        raise UpstreamError(f"{info.filename} in it is encrypted")
    return ArchiveMember(
        start, end, info.compress_size, info.file_size, info.CRC, info.compress_type
    )


def _unpacked(path: str, member: ArchiveMember, data: bytes) -> bytes:
    """Take a member's content out of its span, and compare it with the table of contents."""
    try:
        signature, name, extra = _LOCAL_HEADER.unpack_from(data)
        start = _LOCAL_HEADER.size + name + extra
        packed = data[start : start + member.packed]
        if signature != b"PK\x03\x04" or len(packed) != member.packed:
            raise ValueError("it is not where the archive says")
        content = _decompressed(member, packed)
        if len(content) != member.size or zlib.crc32(content) != member.crc:
            raise ValueError("its content has another size or checksum than the archive says")
    except (struct.error, zlib.error, ValueError) as error:
        raise UpstreamError(f"{path} in it is damaged: {error}") from error
    return content


def _decompressed(member: ArchiveMember, packed: bytes) -> bytes:
    if member.method == zipfile.ZIP_STORED:
        return packed
    if member.method != zipfile.ZIP_DEFLATED:
        raise ValueError(f"its compression, number {member.method}, is none that wheels use")
    # One more than there should be shows that it goes on.
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size + 1)
