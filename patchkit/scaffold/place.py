"""Where a pack lies, or is to lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INIT = "__init__.py"
_SRC = "src"


class Place(NamedTuple):
    """A pack's module, and the folder of its package."""

    module: str
    folder: Path

    @property
    def file(self) -> Path:
        """What holds the rows."""
        return self.folder / INIT

    @property
    def root(self) -> Path:
        """The folder that its top package is in."""
        return self.folder.parents[self.module.count(".")]

    @property
    def new_parents(self) -> list[Path]:
        """The `__init__.py` files that the packages around it lack."""
        outer = list(self.folder.parents)[: self.module.count(".")]
        return [folder / INIT for folder in reversed(outer) if not (folder / INIT).exists()]


def place_of(text: str, here: Path, find: Callable[[str], Path | None]) -> Place:
    """
    Find where a pack lies, or is to lie.

    Args:
        text: a folder, or the name of a module.
        here: where relative folders start, and packages that are not there yet.
        find: returns the file of a module that can be imported.

    """
    folder = here / text
    if folder.is_file():
        raise ScaffoldError(f"--pack: found the file {text}, expected a folder or a module's name")
    if folder.is_dir() or not all(part.isidentifier() for part in text.split(".")):
        return _of_folder(text, folder.resolve())
    file = find(text)
    if file is not None and file.name != INIT:
        raise ScaffoldError(f"--pack: found {text} in {file}, expected a package, for its bodies")
    return Place(text, file.parent if file else _home(here.resolve()).joinpath(*text.split(".")))


def _home(here: Path) -> Path:
    """Choose where a new package goes: into `src` where that is, and no package lies beside it."""
    beside = [file for file in here.glob(f"*/{INIT}") if file.parent.name != "tests"]
    return here / _SRC if (here / _SRC).is_dir() and not beside else here


def _of_folder(text: str, folder: Path) -> Place:
    """Name the module of a folder: outer folders belong to it that are packages, or new."""
    names = [folder.name]
    for outer in folder.parents:
        if not (outer / INIT).exists() and (outer.exists() or outer.name == _SRC):
            break
        names.insert(0, outer.name)
    if not all(name.isidentifier() for name in names):
        raise ScaffoldError(f"--pack: found {text!r}, expected a folder that can be imported")
    return Place(".".join(names), folder)
