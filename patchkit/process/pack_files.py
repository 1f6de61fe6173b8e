"""The files of a pack that decide what its patches do; read, never imported."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder, all_suffixes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.rows.declaration import Row


def hash_of(parts: Iterable[bytes]) -> str:
    """Hash parts, whichever they are and in this order."""
    import hashlib  # noqa: PLC0415 - 3 ms of a start, and few processes hash anything

    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def modules_digest(pack: str) -> str:
    """Hash the names and the bytes of every module in a pack's package, beneath it too."""
    modules = (one for folder in _folders(pack) for one in sorted(_modules(folder)))
    return hash_of(part for name, text in modules for part in (name.encode(), text))


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
        yield b"".join(_bytes(f"{folder}/{name}") for folder in _folders(row.pack))


def _folders(pack: str) -> list[str]:
    return list(getattr(sys.modules.get(pack), "__path__", ()))


def _modules(folder: str) -> Iterator[tuple[str, bytes]]:
    if archive := _archive(folder):
        yield archive, _bytes(archive)  # all of it, data files too
    endings = tuple({f".{suffix.rpartition('.')[2]}" for suffix in all_suffixes()})
    for path in _files(folder):
        name = path.rpartition("/")[2]
        if name.endswith(endings) and name.partition(".")[0].isidentifier():
            yield path[len(folder) :], _bytes(path)


def _files(folder: str, above: tuple[str, ...] = ()) -> Iterator[str]:
    """Walk a folder and all beneath it that can be imported, links too, unless they lead back."""
    real = os.path.realpath(folder)
    if real in above or not os.path.isdir(folder):  # noqa: PTH112 - pathlib costs a start
        return
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - as above
        path = f"{folder}/{name}"
        if not os.path.isdir(path):  # noqa: PTH112
            yield path
        elif name.isidentifier() and name != "__pycache__":
            yield from _files(path, (*above, real))


def _archive(folder: str) -> str:
    """Find the zip file that a folder lies in; '' where it is a real one."""
    while folder and not os.path.exists(folder):  # noqa: PTH110 - pathlib costs a start
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder if os.path.isfile(folder) else ""  # noqa: PTH113


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
