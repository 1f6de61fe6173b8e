"""Reads wheels: the table of contents first, then only the files that are needed."""

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
from patchkit.core.plain_files import open_plain
from patchkit.errors import UpstreamError

MAX_DIRECTORY = 16 << 20
"""Bytes of a table of contents; those of vLLM's wheels have 0.5 MB."""

_FIRST_TAIL = 64 << 10
"""Bytes that are read first, from the end of a wheel."""
_LOCAL_HEADER = struct.Struct("<4s22xHH")
"""The header before each member: the signature, and the lengths of its name and extra field."""
_SIGNATURE = b"PK\x03\x04"
_MAX_FIELD = 0xFFFF
"""Bytes of a name or an extra field."""
_ENCRYPTED = 1  # a flag
# `NAME.data/purelib/…` is installed to site-packages, other folders of `NAME.data` elsewhere.
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_NOT_INSTALLED = re.compile(r"[^/]+\.(?:data|dist-info)/")
_NO_ZIP = (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, OverflowError)
"""Errors that `zipfile` raises for what is no valid archive."""


@dataclass(frozen=True)
class LocalContent:
    """The content of a file on this machine, read in parts.

    Args:
        file: The file.
    """

    file: Path

    def tail(self, size: int) -> tuple[bytes, int]:
        """Read the last bytes of the file.

        Args:
            size: How many bytes, if there are as many.

        Returns:
            The bytes, and the size of the whole file.

        Raises:
            UpstreamError: The file cannot be read.
        """
        try:
            with open_plain(self.file) as file:
                total = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        (piece,) = self.fetch([(max(0, total - size), total)])
        return piece, total

    def fetch(self, spans: Sequence[Span]) -> list[bytes]:
        """Read parts of the file.

        Args:
            spans: The parts.

        Returns:
            The bytes of each.

        Raises:
            UpstreamError: The file cannot be read, or ends before the end of a part.
        """
        try:
            with open_plain(self.file) as file:
                pieces = [
                    os.pread(file.fileno(), end - start, start) for start, end in spans
                ]
        except OSError as error:
            raise UpstreamError(error.strerror or str(error)) from error
        for piece, (start, end) in zip(pieces, spans, strict=True):
            if len(piece) != end - start:
                raise UpstreamError("it is truncated")
        return pieces


@dataclass(frozen=True)
class WheelReader:
    """Reads a wheel, on this machine or on the web.

    Args:
        content: Reads parts of its file.
        download: Fetches the whole file, until the context ends, where its server does not serve
            parts; called with the error that says so. None for a file on this machine.
    """

    content: LocalContent | RemoteContent
    download: Callable[[NoRangesError], AbstractContextManager[Path]] | None = None

    def listing(self) -> tuple[Listing, dict[str, bytes]]:
        """List the Python files and extension modules of the wheel.

        Returns:
            The listing, and the contents of all Python files if the wheel had to be fetched whole.

        Raises:
            UpstreamError: The file is no wheel, or cannot be read.
        """
        try:
            # `_Tail` has those methods of a file that `zipfile` calls to read.
            with zipfile.ZipFile(cast("IO[bytes]", _Tail(self.content))) as archive:
                return _list_members(archive), {}
        except NoRangesError as error:
            return self._read_whole(error)
        except _NO_ZIP as error:
            raise UpstreamError(
                f"it is not a zip archive, or is truncated ({error})"
            ) from error

    def fetch(self, members: Listing) -> dict[str, bytes]:
        """Read files of the wheel.

        Args:
            members: The files of its listing that are needed.

        Returns:
            Their contents by path, and those of all others if the wheel had to be fetched whole.
        """
        for path, member in members.items():
            # What is fetched must not be too large, nor what that unpacks to.
            check_size(path, max(member.size, member.packed))
        spans = [(member.start, member.end) for member in members.values()]
        try:
            pieces = self.content.fetch(spans)
        except NoRangesError as error:
            _, contents = self._read_whole(error)
            return contents
        contents = {}
        for (path, member), piece in zip(members.items(), pieces, strict=True):
            contents[path] = _unpacked(path, member, piece)
        return contents

    def _read_whole(self, error: NoRangesError) -> tuple[Listing, dict[str, bytes]]:
        """Fetch the whole wheel, and read all of its Python files."""
        assert self.download is not None  # NoRangesError comes from a server
        with self.download(error) as file:
            local = WheelReader(LocalContent(file))
            listing, _ = local.listing()
            members = {
                path: member for path, member in listing.items() if is_python(path)
            }
            size = sum(member.size for member in members.values())
            if size > MAX_ALL:
                limit = f"archives of up to {MAX_ALL:,} are read"
                raise UpstreamError(f"its Python files have {size:,} bytes; {limit}")
            return listing, local.fetch(members)


class _Tail:
    """A file object for `zipfile`, which reads the table of contents at the end of an archive.

    The last bytes are in memory; where `zipfile` reads before them, what lies between is fetched.
    """

    def __init__(self, content: LocalContent | RemoteContent) -> None:
        self._content = content
        self._data, self._size = content.tail(_FIRST_TAIL)
        self._position = 0

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, as a file object does; return it."""
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        self._position = origins[whence] + offset
        if self._position < 0:
            raise OSError(f"position {self._position} lies before the file")
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read from the position, as a file object does; up to the end where `size` is negative."""
        end = self._size
        if size >= 0:
            end = min(self._position + size, self._size)
        if end <= self._position:
            return b""
        self._extend_to(self._position)
        data_start = self._size - len(self._data)
        piece = self._data[self._position - data_start : end - data_start]
        self._position = end
        return piece

    def _extend_to(self, position: int) -> None:
        """Fetch the bytes from a position up to those in memory, if it lies before them."""
        data_start = self._size - len(self._data)
        if position < data_start:
            if self._size - position > MAX_DIRECTORY:
                raise UpstreamError(
                    f"its table of contents has more than {MAX_DIRECTORY:,} bytes"
                )
            (piece,) = self._content.fetch([(position, data_start)])
            self._data = piece + self._data


def _list_members(archive: zipfile.ZipFile) -> Listing:
    """List the Python files and extension modules of an archive.

    Raises:
        UpstreamError: A name leads out of the archive, or members overlap.
    """
    members = archive.infolist()
    for member in members:
        check_name(member.orig_filename)  # `filename` is cut off at a NUL
    # Each member ends where the next one begins, the last one at the table of contents. One that
    # claims to begin behind the table has no end: `_member` is passed 0 for it, and refuses it.
    offsets = {member.header_offset for member in members}
    offsets.add(archive.start_dir)
    ends = dict(itertools.pairwise(sorted(offsets)))
    listing = {}
    for member in members:
        path = _installed_path(member.filename)
        if is_listed(path):
            listing[path] = _member(member, ends.get(member.header_offset, 0))
    return listing


def _installed_path(name: str) -> str:
    """Return the path below site-packages to which a wheel's member is installed; '' for others."""
    match = _DATA.match(name)
    if match:
        return match[1]
    if _NOT_INSTALLED.match(name):
        return ""
    return name


def _member(info: zipfile.ZipInfo, next_offset: int) -> ArchiveMember:
    """Describe a member.

    Args:
        info: Its entry in the table of contents.
        next_offset: Where the next member begins.

    Raises:
        UpstreamError: It overlaps with the next one, or is encrypted.
    """
    start = info.header_offset
    # A header, two fields and the data: what else there may be before the next one is not fetched.
    longest = _LOCAL_HEADER.size + 2 * _MAX_FIELD + info.compress_size
    end = min(next_offset, start + longest)
    if start < 0 or end - start < _LOCAL_HEADER.size + info.compress_size:
        raise UpstreamError(f"its members overlap, at {info.filename}")
    if info.flag_bits & _ENCRYPTED:
        raise UpstreamError(f"{info.filename} in it is encrypted")
    return ArchiveMember(
        start, end, info.compress_size, info.file_size, info.CRC, info.compress_type
    )


def _unpacked(path: str, member: ArchiveMember, data: bytes) -> bytes:
    """Unpack a member, and compare its content with the table of contents.

    Args:
        path: Its path, for messages.
        member: Its entry in the table of contents.
        data: The bytes of its span: header, name, extra field and packed content.
    """
    try:
        signature, name_length, extra_length = _LOCAL_HEADER.unpack_from(data)
        start = _LOCAL_HEADER.size + name_length + extra_length
        packed = data[start : start + member.packed]
        if signature != _SIGNATURE or len(packed) != member.packed:
            raise ValueError("it is not where the archive says")
        content = _decompressed(member, packed)
        if len(content) != member.size or zlib.crc32(content) != member.crc:
            raise ValueError(
                "its content has another size or checksum than the archive says"
            )
    except (struct.error, zlib.error, ValueError) as error:
        raise UpstreamError(f"{path} in it is damaged: {error}") from error
    return content


def _decompressed(member: ArchiveMember, packed: bytes) -> bytes:
    """Decompress the content of a member; raise ValueError for a method that is not supported."""
    if member.method == zipfile.ZIP_STORED:
        return packed
    if member.method != zipfile.ZIP_DEFLATED:
        raise ValueError(f"unsupported compression method {member.method}")
    # Without a header (-MAX_WBITS), as in every zip. One byte more than there should be is unpacked
    # to show that the size is wrong.
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size + 1)
