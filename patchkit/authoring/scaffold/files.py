"""Plans files to write, and then writes all of them, or none."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from patchkit.authoring.scaffold.replacing import replace_all
from patchkit.errors import ScaffoldError


class PlannedFile(NamedTuple):
    """One file to write.

    Args:
        what: what it is: a `body`, `test`, `row`, `package` or `module`.
        path: the file.
        new: its new content.
        old: its content now; None for a new file.
    """

    what: str
    path: Path
    new: bytes
    old: bytes | None = None

    @property
    def action(self) -> str:
        """What is done to the file: `created` or `edited`."""
        return "created" if self.old is None else "edited"

    @property
    def text(self) -> str:
        """The new content, decoded for a person to read."""
        return self.new.decode(errors="replace")

    @property
    def diff(self) -> list[str]:
        """The lines of a unified diff of an edited file, without file names; [] for a new file."""
        if self.old is None:
            return []
        old_lines = self.old.decode(errors="replace").splitlines()
        lines = unified_diff(old_lines, self.text.splitlines(), lineterm="", n=2)
        return list(lines)[2:]  # without `---` and `+++`


class Drafts:
    """The files planned so far, for one patch after another."""

    def __init__(self) -> None:
        self._files: dict[Path, PlannedFile] = {}

    @property
    def files(self) -> list[PlannedFile]:
        """The files to write, each once."""
        return list(self._files.values())

    def has(self, path: Path) -> bool:
        """Whether a file exists or is planned.

        Args:
            path: the file.
        """
        return path in self._files or path.exists()

    def content(self, path: Path) -> bytes | None:
        """Return the planned content of a file, else the one it has.

        Args:
            path: the file.

        Returns:
            The content; None if the file neither exists nor is planned.
        """
        if path in self._files:
            return self._files[path].new
        if path.exists():
            return path.read_bytes()
        return None

    def add(self, files: Iterable[PlannedFile]) -> None:
        """Plan files; a file that is planned already gets the new content instead.

        Args:
            files: the files.
        """
        for file in files:
            # `old` is what the disk has now: what an earlier plan read, not what it would write.
            first = self._files.get(file.path, file)
            self._files[file.path] = file._replace(old=first.old)


def write(files: Iterable[PlannedFile]) -> None:
    """Write files in order; if one cannot be written, undo what was done to the others.

    Args:
        files: the files.

    Raises:
        ScaffoldError: A new file exists already, an old one was changed since it was planned, or
            writing fails.
    """
    with ExitStack() as undo:
        for file in files:
            try:
                _write_file(file, undo)
            except OSError as error:
                raise _unwritten(file.path, error) from error
        undo.pop_all()  # all are written: nothing is undone at the end of the block


def write_together(files: Sequence[PlannedFile]) -> None:
    """Write edited files so that even a process that is killed on the way leaves all, or none.

    `replacing.recover` takes back what such a process has begun.

    Args:
        files: the files, none of them new. The last one is written last.

    Raises:
        ScaffoldError: A file was changed since it was planned, or writing fails.
    """
    try:
        for file in files:
            if file.path.read_bytes() != file.old:
                raise _changed_meanwhile(file.path)
        replace_all([(file.path, file.new) for file in files])
    except OSError as error:
        raise _unwritten(error.filename, error) from error


def _changed_meanwhile(path: Path) -> ScaffoldError:
    """Make the error of a file that is not as it was when it was planned."""
    return ScaffoldError(f"{path} was changed meanwhile; nothing was written")


def _unwritten(file: object, error: OSError) -> ScaffoldError:
    """Make the error of a file that cannot be written."""
    reason = error.strerror or error
    return ScaffoldError(f"{file}: {reason}; nothing was written")


def _write_file(file: PlannedFile, undo: ExitStack) -> None:
    """Write a file, and make the folders that it lacks; the callbacks in `undo` remove them."""
    missing = [folder for folder in file.path.parents if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir()
        undo.callback(folder.rmdir)
    if file.old is None:
        _create(file.path, file.new, undo)
    else:
        # The file that a symbolic link leads to is replaced, not the link.
        _change(file.path.resolve(), file.old, file.new, undo)


def _create(path: Path, content: bytes, undo: ExitStack) -> None:
    """Write a new file; raise FileExistsError if it exists."""
    with path.open("xb") as file:  # x: create it, or fail
        undo.callback(path.unlink)
        file.write(content)


def _change(path: Path, old: bytes, new: bytes, undo: ExitStack) -> None:
    """Replace the content of a file atomically, so that no reader sees half of it."""
    if path.read_bytes() != old:
        raise _changed_meanwhile(path)
    replace_all([(path, new)])
    undo.callback(path.write_bytes, old)
