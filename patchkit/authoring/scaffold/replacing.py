"""Replaces the content of files so that a process that is killed on the way changes none, or all.

Each file gets a replacement beside it, `.x.py.patchkit`, and each but the last one a copy of what
it was, `.x.py.patchkit-old`. Then each replacement takes the name of its file, that of the last one
last: with that, all files are replaced, and the copies are deleted.

So what a killed process has left says how far it came. As long as there is a replacement, not all
files were replaced: a file whose own replacement is gone gets its copy back.
"""

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from patchkit.errors import ScaffoldError, shown

if sys.platform != "win32":
    import fcntl

_REPLACEMENT = ".patchkit"
_COPY = ".patchkit-old"


def replace_all(contents: Sequence[tuple[Path, bytes]]) -> None:
    """Replace the content of files; if one cannot be replaced, all stay as they are.

    Args:
        contents: the files, which exist, with their new contents. The last one is replaced last.

    Raises:
        OSError: A file cannot be replaced.
        ScaffoldError: A file was edited after an earlier process was killed on the way.
    """
    # The file that a symbolic link leads to is replaced, not the link.
    resolved = [(path.resolve(), content) for path, content in contents]
    paths = [path for path, _ in resolved]
    folders = {path.parent for path in paths}
    with _locked(folders):
        _recover(folders)
        try:
            for path, content in resolved:
                _write_replacement(path, content)
            for path in paths[:-1]:
                shutil.copy(path, _hidden(path, _COPY))
            for path in paths:
                _hidden(path, _REPLACEMENT).replace(path)
        finally:  # after an error, give back what was replaced; else only delete the copies
            _recover(folders)


def recover(files: Collection[Path]) -> None:
    """Finish what a process that was killed while it replaced files has begun, or take it back.

    Args:
        files: the files that it may have replaced.

    Raises:
        OSError: A file cannot be given back.
        ScaffoldError: A file that has to be given back was edited since.
    """
    folders = _folders_of(files)
    if is_unfinished(files):
        with _locked(folders):
            _recover(folders)


def is_unfinished(files: Collection[Path]) -> bool:
    """Whether a process has left something beside files that it was about to replace.

    Args:
        files: the files.
    """
    folders = _folders_of(files)
    return bool(_remains(folders, _REPLACEMENT) or _remains(folders, _COPY))


def _folders_of(files: Iterable[Path]) -> set[Path]:
    """Return the folders in which files are replaced."""
    return {file.resolve().parent for file in files}


def _hidden(path: Path, ending: str) -> Path:
    """Return the name of the replacement or of the copy of a file."""
    return path.with_name(f".{path.name}{ending}")


def _write_replacement(path: Path, content: bytes) -> None:
    """Write what is to replace a file, with the mode of that file."""
    replacement = _hidden(path, _REPLACEMENT)
    with replacement.open("xb") as file:  # x: create it, or fail
        file.write(content)
    replacement.chmod(path.stat().st_mode)


def _recover(folders: Collection[Path]) -> None:
    """Undo a replacement of files that was not finished, and delete what is beside the files.

    The replacements are deleted last, as they show that it was not finished: should this process
    be killed, too, the next one undoes what is left.
    """
    replacements = _remains(folders, _REPLACEMENT)
    copies = _remains(folders, _COPY)
    # As there are any, not all files were replaced: those that were get their copies back.
    if replacements:
        for path in copies.keys() - replacements.keys():
            _give_back(path, copies.pop(path))
    for leftover in [*copies.values(), *replacements.values()]:
        leftover.unlink(missing_ok=True)


def _give_back(path: Path, copy: Path) -> None:
    """Put the copy of a file in its place; raise ScaffoldError if somebody has edited the file."""
    if path.exists():
        # The file is now the replacement, which was written before the copy was made. If it is
        # newer than the copy, somebody has changed it since.
        is_newer = path.stat().st_mtime_ns > copy.stat().st_mtime_ns
        is_edited = is_newer and path.read_bytes() != copy.read_bytes()
        if is_edited:
            raise ScaffoldError(
                f"{shown(path)} was edited after a rebase was killed; its text before that rebase "
                f"is in {shown(copy)}: move that back to {path.name}, or delete it"
            )
    copy.replace(path)


def _remains(folders: Iterable[Path], ending: str) -> dict[Path, Path]:
    """Find the replacements or the copies in folders, by the file that each is of."""
    remains: dict[Path, Path] = {}
    for folder in folders:
        for hidden in folder.glob(f".*{ending}"):
            name = hidden.name.removeprefix(".").removesuffix(ending)
            if hidden.is_file():
                remains[folder / name] = hidden
    return remains


@contextmanager
def _locked(folders: Iterable[Path]) -> Iterator[None]:
    """Let no other process replace files in folders meanwhile; one that is killed holds no lock."""
    with ExitStack() as stack:
        if sys.platform != "win32":
            for folder in sorted(folders):
                descriptor = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, descriptor)
                # Some file systems of networks have no such locks.
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
