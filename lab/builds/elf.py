"""Mark what a shared object asks of one version of a library as weak.

Some old wheels were built with a C++ library newer than they claim. Each asks it for one symbol,
which is either never called or ends the process: without the symbol they run as well, but the
dynamic linker refuses them unless both the version and the symbol are weak.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builds import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"\x7fELF\x02\x01"
"""64 bits, little endian."""
SECTION_TABLE = 40, 58
SECTION = struct.Struct("<IIQQQQIIQQ")
NEED = struct.Struct("<HHIII")
NEEDED_VERSION = struct.Struct("<IHHII")
SYMBOL = struct.Struct("<IBBHQQ")
VERSION_NEEDS, SYMBOL_VERSIONS = 0x6FFFFFFE, 0x6FFFFFFF
WEAK_VERSION = 2
WEAK_SYMBOL = 2


@dataclass(frozen=True)
class Section:
    """Where one section lies in the file, and which other one it refers to."""

    kind: int
    offset: int
    size: int
    link: int


def weaken(file: Path, version: str) -> None:
    """Mark one version that a shared object needs as weak, and the symbols it needs of it.

    Raises:
        BuildError: it is no such file, or does not need the version.
    """
    content = bytearray(file.read_bytes())
    if not content.startswith(MAGIC):
        raise BuildError(
            f"{file}: found no 64-bit little-endian ELF file, expected one"
        )
    sections = list(sections_of(content))
    indices = set(weak_versions(content, sections, version.encode()))
    if not indices:
        raise BuildError(f"{file}: found no need of {version}, expected one")
    weak_symbols(content, sections, indices)
    replace(file, content)


def replace(file: Path, content: bytearray) -> None:
    """Put a new file in the old one's place, which may share its content with uv's cache."""
    new = file.with_name(f"{file.name}.new")
    new.write_bytes(content)
    new.chmod(file.stat().st_mode)
    new.replace(file)


def sections_of(content: bytearray) -> Iterator[Section]:
    """The table of sections."""
    (table,) = struct.unpack_from("<Q", content, SECTION_TABLE[0])
    size, count = struct.unpack_from("<HH", content, SECTION_TABLE[1])
    for index in range(count):
        fields = SECTION.unpack_from(content, table + index * size)
        _, kind, _, _, offset, length, link = fields[:7]
        yield Section(kind, offset, length, link)


def of_kind(sections: list[Section], kind: int) -> Iterator[Section]:
    """The sections of a kind, of which there is one or none."""
    return (section for section in sections if section.kind == kind)


def weak_versions(
    content: bytearray, sections: list[Section], version: bytes
) -> Iterator[int]:
    """Mark a version; yield the numbers by which symbols refer to it."""
    for section in of_kind(sections, VERSION_NEEDS):
        names = sections[section.link].offset
        for at in needed_versions(content, section.offset):
            hashed, flags, number, name, following = NEEDED_VERSION.unpack_from(
                content, at
            )
            if text(content, names + name) == version:
                fields = hashed, flags | WEAK_VERSION, number, name, following
                NEEDED_VERSION.pack_into(content, at, *fields)
                yield number


def needed_versions(content: bytearray, library: int) -> Iterator[int]:
    """Where the versions lie that are needed, of one library after another."""
    while True:
        _, count, _, first, following = NEED.unpack_from(content, library)
        at = library + first
        for _ in range(count):
            yield at
            at += NEEDED_VERSION.unpack_from(content, at)[-1]
        if not following:
            return
        library += following


def weak_symbols(
    content: bytearray, sections: list[Section], versions: set[int]
) -> None:
    """Mark the symbols whose version is one of those numbered."""
    for table in of_kind(sections, SYMBOL_VERSIONS):
        symbols = sections[table.link].offset
        numbers = struct.unpack_from(f"<{table.size // 2}H", content, table.offset)
        for index, number in enumerate(numbers):
            if number in versions:
                information = symbols + index * SYMBOL.size + 4
                content[information] = WEAK_SYMBOL << 4 | content[information] & 0xF


def text(content: bytearray, at: int) -> bytes:
    """A string of a table of strings."""
    return bytes(content[at : content.index(b"\0", at)])
