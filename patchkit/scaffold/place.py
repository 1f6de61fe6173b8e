"""Where a pack lies, or is to lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INIT = "__init__.py"
SRC = "src"
_TESTS = "tests"


@dataclass(frozen=True)
class Place:
    """
    A pack's place.

    Args:
        module: its name.
        folder: of the package.

    """

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
        return [one / INIT for one in reversed(outer) if not (one / INIT).exists()]


def place_of(text: str, here: Path, find: Callable[[str], Path | None]) -> Place:
    """
    Find where a pack lies, or is to lie.

    Args:
        text: a folder, or the name of a module.
        here: where relative folders start, and packages that are not there yet.
        find: returns the file of a module that can be imported.

    Raises:
        ScaffoldError: it is neither, or a module that is no package.

    """
    folder = here / text
    if folder.is_file():
        raise ScaffoldError(f"--pack: found the file {text}, expected a folder or a module's name")
    if folder.is_dir() or not _is_dotted(text):
        return _of_folder(text, folder.resolve())
    file = find(text)
    if file is not None and file.name != INIT:
        raise ScaffoldError(f"--pack: found {text} in {file}, expected a package, for its bodies")
    return Place(text, file.parent if file else _home(here.resolve()).joinpath(*text.split(".")))


def _home(here: Path) -> Path:
    """Choose where a new package goes: into `src` where that is, and no package lies beside it."""
    beside = [one for one in here.glob(f"*/{INIT}") if one.parent.name != _TESTS]
    return here / SRC if (here / SRC).is_dir() and not beside else here


def _of_folder(text: str, folder: Path) -> Place:
    """Name the module of a folder: outer folders belong to it that are packages, or new."""
    names = [folder.name]
    for outer in folder.parents:
        if not (outer / INIT).exists() and (outer.exists() or outer.name == SRC):
            break
        names.insert(0, outer.name)
    if not all(name.isidentifier() for name in names):
        raise ScaffoldError(f"--pack: found {text!r}, expected a folder that can be imported")
    return Place(".".join(names), folder)


def _is_dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
