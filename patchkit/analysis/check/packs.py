"""Packs as far as they can be read: what is wrong with one row does not hide the others."""

import functools
import importlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Finding, Place
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.tree import Tree
from patchkit.core.rows.declaration import Patch, Row
from patchkit.core.rows.target import Target
from patchkit.errors import DeclarationError, place_of_row, shown
from patchkit.registry import Registry, packs_for, read_pack, row_of
from patchkit.settings import Settings

_BODY = re.compile(r"patch_\w+")


def read_packs(settings: Settings, extra: Iterable[str]) -> tuple[Registry, list[Finding]]:
    """Read this process's packs and further ones; find bodies without row, rows without body.

    What else is wrong with a pack or a row raises `DeclarationError`.
    """
    rows: list[Row] = []
    findings: list[Finding] = []
    for name in packs_for(settings, extra):
        try:
            rows += read_pack(name)
        except DeclarationError as error:
            some, faults = _read_loosely(name, error)
            rows += some
            findings += faults
    return Registry(rows), findings


def _read_loosely(name: str, error: DeclarationError) -> tuple[list[Row], list[Finding]]:
    module = importlib.import_module(name) if error.field in ("PATCHES", "body") else None
    patches = getattr(module, "PATCHES", None)
    if not isinstance(patches, (tuple, list)) or not all(isinstance(one, Patch) for one in patches):
        raise error
    pack, declared = PackSource(name), {one.body for one in patches}
    lost = [one for one in patches if one.body is not None and one.body not in pack.bodies]
    findings = [*_unmatched(pack, declared, lost)]
    if not findings:
        raise error
    return [row_of(name, one) for one in patches if one not in lost], findings


def _unmatched(
    pack: "PackSource", declared: Collection[str | None], lost: Iterable[Patch]
) -> Iterator[Finding]:
    for body in sorted(pack.bodies.keys() - declared):
        message = f"pack {pack.name} has {body}.py and no row for it; it is never loaded"
        fix, file = "add a row to PATCHES, or delete the file", shown(pack.bodies[body])
        yield Finding(codes.BODY_WITHOUT_ROW, message, fix, file=file, line=1)
    for one in lost:
        message = f"the row {one.name} names the body {one.body!r}, which pack {pack.name} lacks"
        fix, place = f"write {one.body}.py, or delete the row", pack.row_place(one.name)
        yield Finding(codes.ROW_WITHOUT_BODY, message, fix, one.name, "", "", *place)


class PackSource:
    """What the author of a pack wrote, read as source; its module has been imported."""

    def __init__(self, name: str) -> None:
        self.name = name
        module = sys.modules[name]
        self.path = Path(getattr(module, "__file__", None) or f"{name}.py")
        self._folders = [Path(folder) for folder in getattr(module, "__path__", ())]
        self.root = (self._folders or [self.path])[0].parents[name.count(".")]
        self._places: dict[str, Place] = {}
        # Its source, and that of the packages around it.
        source = Tree(f"pack {name}", None, self.root, name.partition(".")[0])
        self.subject = CheckedRelease(source.name, name, "", lambda: source)

    @functools.cached_property
    def bodies(self) -> Mapping[str, Path]:
        """The `patch_<module>` files in it, by name."""
        files = [file for folder in self._folders for file in folder.glob("patch_*.py")]
        return {file.stem: file for file in reversed(files) if _BODY.fullmatch(file.stem)}

    def facts(self, row: Row, name: str) -> Facts:
        """Say what an object of a body is."""
        return self.subject.facts(Target(row.body, name))

    def place(self, row: Row, name: str = "") -> Place:
        """Return the file and line of an object of a body, or of the row itself."""
        found = self.facts(row, name) if name and row.patch.body is not None else None
        if found and found.lines and found.module.partition(".")[0] == self.name.split(".")[0]:
            return shown(self.root / found.path), found.lines[0]
        return self.row_place(row.name)

    def file(self, path: str) -> str:
        """Name a file of its source as messages do."""
        return shown(self.root / path)

    def row_place(self, name: str) -> Place:
        """Return the file and line where a row's name is written."""
        if name not in self._places:
            self._places[name] = place_of_row(self.name, name) or (shown(self.path), None)
        return self._places[name]
