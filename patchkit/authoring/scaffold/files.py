"""Plans files; then writes all of them, or none."""

from collections.abc import Iterable
from contextlib import ExitStack
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from patchkit.errors import ScaffoldError


class PlannedFile(NamedTuple):
    """One file to write.

    Args:
        what: what it is: a `body`, `test`, `row`, `package` or `module`.
        path: the file.
        new: what it shall have in it.
        old: what it has in it; None for a new file.
    """

    what: str
    path: Path
    new: bytes
    old: bytes | None = None

    @property
    def action(self) -> str:
        """What is done to it."""
        return "created" if self.old is None else "edited"

    @property
    def text(self) -> str:
        """Its content, for people."""
        return self.new.decode(errors="replace")

    @property
    def diff(self) -> list[str]:
        """What an edit changes; nothing for a new file."""
        if self.old is None:
            return []
        old_lines = self.old.decode(errors="replace").splitlines()
        lines = unified_diff(old_lines, self.text.splitlines(), lineterm="", n=2)
        return list(lines)[2:]  # without the names of files


class Drafts:
    """The files that are planned so far, for one patch after another."""

    def __init__(self) -> None:
        self._files: dict[Path, PlannedFile] = {}

    @property
    def files(self) -> list[PlannedFile]:
        """The files to write, each once."""
        return list(self._files.values())

    def has(self, path: Path) -> bool:
        """Whether a file is there, or planned.

        Args:
            path: the file.
        """
        return path in self._files or path.exists()

    def content(self, path: Path) -> bytes | None:
        """Return what a file has in it, or shall have.

        Args:
            path: the file.

        Returns:
            None where there is none.
        """
        if path in self._files:
            return self._files[path].new
        return path.read_bytes() if path.exists() else None

    def add(self, files: Iterable[PlannedFile]) -> None:
        """Plan files; one that is planned already gets its last content.

        Args:
            files: the files.
        """
        for file in files:
            first = self._files.get(file.path, file)
            self._files[file.path] = file._replace(old=first.old)


def write(files: Iterable[PlannedFile]) -> None:
    """Write files in order; where one cannot be written, take the others back.

    Args:
        files: the files.

    Raises:
        ScaffoldError: a file is there already, is not what it was, or cannot be written.
    """
    with ExitStack() as undo:
        for file in files:
            try:
                _write_file(file, undo)
            except OSError as error:
                reason = error.strerror or error
                raise ScaffoldError(
                    f"{file.path}: {reason}; nothing was written"
                ) from error
        undo.pop_all()


def _write_file(file: PlannedFile, undo: ExitStack) -> None:
    """Write a file, and make the folders that it lacks; `undo` gets what takes them back."""
    missing = [folder for folder in file.path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.callback(folder.rmdir)
    if file.old is None:
        _create(file.path, file.new, undo)
    else:
        _change(file.path.resolve(), file.old, file.new, undo)


def _create(path: Path, content: bytes, undo: ExitStack) -> None:
    """Write a new file; FileExistsError where there is one already."""
    with path.open("xb") as file:
        undo.callback(path.unlink, missing_ok=True)
        file.write(content)


def _change(path: Path, old: bytes, new: bytes, undo: ExitStack) -> None:
    """Put the new content in the place of the old at once, so that no reader sees half of it."""
    if path.read_bytes() != old:
        raise ScaffoldError(f"{path} was changed meanwhile; nothing was written")
    replacement = path.with_name(f".{path.name}.patchkit")
    _create(replacement, new, undo)
    replacement.chmod(path.stat().st_mode)
    undo.callback(path.write_bytes, old)
    replacement.replace(path)
