"""Planned files on disk: all of them, or none."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from patchkit.scaffold.plan import PlannedFile


def write(files: Iterable[PlannedFile]) -> None:
    """
    Write files in order; where one cannot be written, take the others back.

    Raises:
        ScaffoldError: one cannot be written, is there already, or is not what it was.

    """
    with ExitStack() as undo:
        for file in files:
            try:
                _make_folders(file.path.parent, undo)
                if file.old is None:
                    _create(file.path, file.new, undo)
                else:
                    _change(file.path.resolve(), file.old, file.new, undo)
            except OSError as error:
                reason = error.strerror or error
                raise ScaffoldError(f"{file.path}: {reason}; nothing was written") from error
        undo.pop_all()


def _make_folders(folder: Path, undo: ExitStack) -> None:
    if not folder.exists():
        _make_folders(folder.parent, undo)
        folder.mkdir()
        undo.callback(folder.rmdir)


def _create(path: Path, content: bytes, undo: ExitStack) -> None:
    with path.open("xb") as file:
        undo.callback(path.unlink, missing_ok=True)
        file.write(content)


def _change(path: Path, old: bytes, new: bytes, undo: ExitStack) -> None:
    """Put the new content in the place of the old at once, so that no reader sees half of it."""
    if path.read_bytes() != old:
        raise ScaffoldError(f"{path} was changed meanwhile; nothing was written")
    beside = path.with_name(f".{path.name}.patchkit")
    _create(beside, new, undo)
    beside.chmod(path.stat().st_mode)
    beside.replace(path)
