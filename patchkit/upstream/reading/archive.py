"""
What an archive holds of Python, and how much of it is believed.

A file from an index is a stranger's: names that point outside, sizes that lie and archives made to
fill the memory are refused, with the reason.
"""

from __future__ import annotations

import itertools
import re
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from patchkit.upstream.reading.content import Span

MAX_FILE = 16 << 20
"""One Python file; the largest of vLLM, torch and Ray have 1 MB."""
MAX_DIRECTORY = 16 << 20
"""A wheel's table of contents; those of vLLM have 0.5 MB."""
MAX_ALL = 1 << 30
"""All Python files of an archive that is read whole."""
MAX_DOWNLOAD = 4 << 30
"""An archive that has to be fetched whole."""

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 1
_ODD = re.compile(r"[\x00-\x1f\x7f\\]|^/|^[A-Za-z]:|(^|/)\.\.?(/|$)")
_DATA = re.compile(r"[^/]+\.data/(?:purelib|platlib)/(.+)")
_EXTENSION = re.compile(r"((?:[^/]+/)*[^\W\d]\w*)(?:\.[^/]+)?\.(?:so|pyd)")
_NOT_INSTALLED = re.compile(r"[^/]+\.(?:data|dist-info)/")


class ArchiveMember(NamedTuple):
    """
    One file within a zip archive.

    Args:
        span: its header and data; None where it has been kept and can be had from the cache only.
        packed: bytes of its data as they lie there.
        size: bytes of its data unpacked.
        crc: of its data unpacked.
        method: how it is compressed.

    """

    span: Span | None
    packed: int = 0
    size: int = 0
    crc: int = 0
    method: int = zipfile.ZIP_STORED


Listing = dict[str, ArchiveMember]
"""The Python files and extension modules of an archive, by their paths when installed."""


def is_python(path: str) -> bool:
    """Whether a path is a source file or a stub."""
    return path.endswith((".py", ".pyi"))


def compiled(path: str) -> str | None:
    """Return the path, without suffix, of the module that an extension file is; None for others."""
    found = _EXTENSION.fullmatch(path)
    return found[1] if found else None


def is_listed(path: str) -> bool:
    """Whether a path is one that an import may lead to."""
    return is_python(path) or compiled(path) is not None


def check_name(name: str) -> None:
    """
    Refuse what no packaging tool writes: a path that leads out of the place of installation.

    Raises:
        UpstreamError: the name is such a path, or holds control characters.

    """
    if _ODD.search(name):
        raise UpstreamError(f"it holds a file named {name[:200]!r}, which leads out of the archive")


def installed_path(name: str) -> str | None:
    """Where a wheel's member is installed, below site-packages; None where elsewhere."""
    inside = _DATA.match(name)
    if inside:
        return inside[1]
    return None if _NOT_INSTALLED.match(name) else name


def list_members(archive: zipfile.ZipFile) -> Listing:
    """
    List the Python files and extension modules of a wheel.

    Raises:
        UpstreamError: a name leads out of the archive, or members lie in each other.

    """
    members = archive.infolist()
    for member in members:
        check_name(member.orig_filename)
    offsets = sorted({member.header_offset for member in members} | {archive.start_dir})
    ends = dict(itertools.pairwise(offsets))
    return {
        path: _member(info, ends.get(info.header_offset, 0))
        for info in members
        if (path := installed_path(info.filename)) and is_listed(path)
    }


def _member(info: zipfile.ZipInfo, end: int) -> ArchiveMember:
    start = info.header_offset
    # What may lie between two members without belonging to either is not fetched.
    end = min(end, start + _LOCAL_HEADER.size + 2 * 0xFFFF + info.compress_size)
    if start < 0 or end - start < _LOCAL_HEADER.size + info.compress_size:
        raise UpstreamError(f"its members overlap, at {info.filename}")
    if info.flag_bits & _ENCRYPTED:
        raise UpstreamError(f"{info.filename} in it is encrypted")
    return ArchiveMember(
        (start, end), info.compress_size, info.file_size, info.CRC, info.compress_type
    )


def check_size(path: str, size: int) -> None:
    """
    Refuse a file that is too large to be source.

    Raises:
        UpstreamError: it is.

    """
    if size > MAX_FILE:
        raise UpstreamError(
            f"{path} in it has {size:,} bytes; Python files of up to {MAX_FILE:,} are read"
        )


def unpack(path: str, member: ArchiveMember, data: bytes) -> bytes:
    """
    Take a member's content out of its span.

    Raises:
        UpstreamError: it is not what the table of contents says.

    """
    content = _decompressed(path, member, _packed(path, member, data))
    if len(content) != member.size or zlib.crc32(content) != member.crc:
        raise _damaged(path, "its content has another size or checksum than the archive says")
    return content


def _packed(path: str, member: ArchiveMember, data: bytes) -> bytes:
    if len(data) < _LOCAL_HEADER.size:
        raise _damaged(path, "its header is cut off")
    signature, name, extra = _LOCAL_HEADER.unpack_from(data)
    start = _LOCAL_HEADER.size + name + extra
    packed = data[start : start + member.packed]
    if signature != b"PK\x03\x04" or len(packed) != member.packed:
        raise _damaged(path, "it is not where the archive says")
    return packed


def _decompressed(path: str, member: ArchiveMember, packed: bytes) -> bytes:
    if member.method == zipfile.ZIP_STORED:
        return packed
    if member.method != zipfile.ZIP_DEFLATED:
        raise _damaged(path, f"its compression, number {member.method}, is none that wheels use")
    try:
        # One more than there should be shows that it goes on.
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, member.size + 1)
    except zlib.error as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, reason: str) -> UpstreamError:
    return UpstreamError(f"{path} in it is damaged: {reason}")


def to_text(listing: Mapping[str, ArchiveMember]) -> str:
    """Write a listing, one line a file."""
    rows = (
        (path, " ".join(map(str, (*(member.span or (-1, -1)), *member[1:]))))
        for path, member in sorted(listing.items())
    )
    return "".join(f"{path}\t{numbers}\n" for path, numbers in rows)


class Lines:
    """A listing as it was written; a line is read when it is asked for."""

    def __init__(self, text: str) -> None:
        self._lines = dict(line.split("\t") for line in text.splitlines())

    def __contains__(self, path: str) -> bool:
        return path in self._lines

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def known(self, paths: Iterable[str]) -> Listing:
        """Return those of the files that the archive holds."""
        return {path: self._member(path) for path in paths if path in self._lines}

    def _member(self, path: str) -> ArchiveMember:
        start, end, *rest = map(int, self._lines[path].split())
        return ArchiveMember((start, end) if start >= 0 else None, *rest)
