"""Planned files on disk: all of them, or none."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from patchkit.scaffold.planning import Planned


def write(files: Iterable[Planned]) -> None:
    """
    Write files in order; where one cannot be written, take the others back.

    Raises:
        ScaffoldError: one cannot be written, is there already, or is not what it was.

    """
    with ExitStack() as undo:
        for one in files:
            try:
                _make_folders(one.path.parent, undo)
                (_create if one.old is None else _edit)(one, undo)
            except OSError as error:
                reason = error.strerror or error
                raise ScaffoldError(f"{one.path}: {reason}; nothing was written") from error
        undo.pop_all()


def _make_folders(folder: Path, undo: ExitStack) -> None:
    if not folder.exists():
        _make_folders(folder.parent, undo)
        folder.mkdir()
        undo.callback(folder.rmdir)


def _create(one: Planned, undo: ExitStack) -> None:
    with one.path.open("xb") as file:
        undo.callback(one.path.unlink)
        file.write(one.new)


def _edit(one: Planned, undo: ExitStack) -> None:
    """Put the new content in the place of the old at once, so that no reader sees half of it."""
    path = one.path.resolve()
    if path.read_bytes() != one.old:
        raise ScaffoldError(f"{one.path} was changed meanwhile; nothing was written")
    beside = path.with_name(f".{path.name}.patchkit")
    with beside.open("xb") as file:
        undo.callback(lambda: beside.unlink(missing_ok=True))
        file.write(one.new)
    beside.chmod(path.stat().st_mode)
    beside.replace(path)
