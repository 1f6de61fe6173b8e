"""What a pack's author wrote, read as source: rows, bodies and the objects in them."""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.rows.target import Target
from patchkit.text.row_lines import place_of_row, shown
from patchkit.upstream.facts import Facts, facts_of
from patchkit.upstream.reading.tree import Tree
from patchkit.upstream.resolving.resolve import Resolver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.rows.row import Row

_BODY = re.compile(r"patch_\w+")


class PackSource:
    """
    The files of one pack.

    Args:
        name: of its module, which has been imported.

    """

    def __init__(self, name: str) -> None:
        self.name = name
        module = sys.modules[name]
        self.file = Path(getattr(module, "__file__", None) or f"{name}.py")
        self._folders = [Path(folder) for folder in getattr(module, "__path__", ())]
        self._facts: dict[Target, Facts] = {}
        self._places: dict[str, tuple[str, int | None]] = {}

    @functools.cached_property
    def resolver(self) -> Resolver:
        """Its source, and that of the packages around it."""
        return Resolver(Tree(f"pack {self.name}", None, self._root, self.name.split(".")[0]))

    @property
    def bodies(self) -> Sequence[str]:
        """The `patch_<module>` files in it, by name."""
        files = (file for folder in self._folders for file in folder.glob("patch_*.py"))
        return sorted(file.stem for file in files if _BODY.fullmatch(file.stem))

    def facts(self, row: Row, name: str) -> Facts:
        """Say what an object of a body is."""
        target = Target(row.body, name)
        if target not in self._facts:
            self._facts[target] = facts_of(self.resolver, target)
        return self._facts[target]

    def place(self, row: Row, name: str = "") -> tuple[str, int | None]:
        """Return the file and line of an object of a body, or of the row itself."""
        found = self.facts(row, name) if name and row.patch.body is not None else None
        if found and found.lines and found.module.partition(".")[0] == self.name.split(".")[0]:
            return shown(self._root / found.path), found.lines[0]
        return self.row_place(row.name)

    def row_place(self, name: str) -> tuple[str, int | None]:
        """Return the file and line where a row's name is written."""
        if name not in self._places:
            self._places[name] = place_of_row(self.name, name) or (shown(self.file), None)
        return self._places[name]

    def body_file(self, body: str) -> str:
        """Return the file of a body."""
        files = (folder / f"{body}.py" for folder in self._folders)
        return shown(next(file for file in files if file.exists()))

    @property
    def _root(self) -> Path:
        return (self._folders[0] if self._folders else self.file).parents[self.name.count(".")]
