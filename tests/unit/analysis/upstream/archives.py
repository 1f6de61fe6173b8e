"""Wheels and source distributions, honest ones and others, made byte by byte where it matters."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = {
    "up/__init__.py": b"from up.core import run\n",
    "up/core.py": b"def run():\n    return 1\n" * 50,
    "up/typed.pyi": b"def run() -> int: ...\n",
    "up/native.so": b"\x7fELF" * 1000,
}


def wheel(
    files: Mapping[str, bytes] = FILES, method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """A wheel with these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("up-1.0.dist-info/METADATA", "Name: up\n")
    return buffer.getvalue()


def spread(count: int = 4, gap: int = 200_000) -> dict[str, bytes]:
    """Python files that lie far from each other in a wheel without compression."""
    files = {"up/__init__.py": b""}
    for number in range(count):
        files[f"up/m{number}.py"] = b"x = %d\n" % number
        files[f"up/big{number}.so"] = bytes([number]) * gap
    return files


def with_claimed_size(data: bytes, name: str, size: int) -> bytes:
    """The wheel, with another unpacked size in its table of contents."""
    start = _entry_start(data, name)
    return data[: start + 24] + struct.pack("<I", size) + data[start + 28 :]


def with_offset(data: bytes, name: str, offset: int) -> bytes:
    """The wheel, with a member said to lie elsewhere."""
    start = _entry_start(data, name)
    return data[: start + 42] + struct.pack("<I", offset) + data[start + 46 :]


def with_flag(data: bytes, name: str, flag: int) -> bytes:
    """The wheel, with a member's flags set in the table of contents."""
    start = _entry_start(data, name)
    return data[: start + 8] + struct.pack("<H", flag) + data[start + 10 :]


def renamed(data: bytes, old: str, new: str) -> bytes:
    """The wheel, with a name of the same length in place of another, as no zip library writes."""
    assert len(old) == len(new)
    return data.replace(old.encode(), new.encode())


def _entry_start(data: bytes, name: str) -> int:
    """Where a member's entry in the table of contents begins."""
    return data.rindex(b"PK\x01\x02", 0, data.rindex(name.encode()))


def sdist(files: Mapping[str, bytes] = FILES, top: str = "up-1.0") -> bytes:
    """A source distribution with these files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
