"""The files of a pack that decide what its patches do; read, never imported."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.machinery import PathFinder, all_suffixes
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.registry import Row


def modules_digest(pack: str) -> str:
    """Hash the names and the bytes of every module in a pack's package, beneath it too."""
    total = hashlib.sha256()
    for folder in _folders(pack):
        for name, text in sorted(_modules(Path(folder))):
            total.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(text).digest())
    return total.hexdigest()[:12]


def body_bytes(row: Row) -> bytes:
    """Read a row's body, wherever it lies; nothing where there is none."""
    spec = PathFinder.find_spec(row.body, _folders(row.pack))
    if spec is None or spec.origin is None:
        return b""
    try:
        return bytes(spec.loader.get_data(spec.origin))  # type: ignore[union-attr]
    except (OSError, AttributeError):
        return b""


def data_bytes(row: Row) -> Iterator[bytes]:
    """Read the files that a row names."""
    for name in row.patch.data:
        yield b"".join(_bytes(Path(folder, name)) for folder in _folders(row.pack))


def _folders(pack: str) -> list[str]:
    return list(getattr(sys.modules.get(pack), "__path__", ()))


def _modules(folder: Path) -> Iterator[tuple[str, bytes]]:
    if archive := next(filter(Path.is_file, folder.parents), None):
        yield archive.name, _bytes(archive)  # all of it, data files too
    for inner, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name.isidentifier() and name != "__pycache__"]
        for file in map(Path, files):
            if file.name.partition(".")[0].isidentifier() and file.suffix in _SUFFIXES:
                path = Path(inner, file)
                yield path.relative_to(folder).as_posix(), _bytes(path)


_SUFFIXES = {Path(f"x{suffix}").suffix for suffix in all_suffixes()}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
