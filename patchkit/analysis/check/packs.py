"""Reads packs as source and as rows, so that a fault of one row does not hide the others."""

import ast
import functools
import importlib
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Finding, Place
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.tree import Tree
from patchkit.analysis.upstream.resolving.code_kinds import classes_of_super
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.core.rows.declaration import Patch, Row
from patchkit.core.rows.target import Target
from patchkit.errors import DeclarationError, place_of_row, shown
from patchkit.registry import Registry, packs_for, read_pack, row_of
from patchkit.settings import Settings

_BODY = re.compile(r"patch_\w+")
_NAME_OF_ROW = re.compile(r"""\bname\s*=\s*["']([^"'\\\n]+)["']""")
"""Matches the name of a row where it is declared, as `errors.place_of_row` searches for it."""

_SLIP = 0.8
"""From here on, one name of a body is a slip of the other."""


def read_packs(
    settings: Settings, extra: Iterable[str]
) -> tuple[Registry, list[Finding]]:
    """Read the rows of the installed packs, of those in the settings, and of further ones.

    Args:
        settings: The settings, which may name packs.
        extra: The names of further packs.

    Returns:
        The rows, and a finding for each body without a row and each row without its body.

    Raises:
        DeclarationError: Something else is wrong with a pack or a row.
    """
    rows: list[Row] = []
    findings: list[Finding] = []
    for name in packs_for(settings, extra):
        try:
            rows += read_pack(name)
        except DeclarationError as error:
            sound_rows, pack_findings = _read_loosely(name, error)
            rows += sound_rows
            findings += pack_findings
    return Registry(rows), findings


def _read_loosely(
    name: str, error: DeclarationError
) -> tuple[list[Row], list[Finding]]:
    """Read the rows of a pack in which bodies and rows do not match.

    Args:
        name: The pack.
        error: What `read_pack` has raised; it is raised again unless such a body or row is why.

    Returns:
        All rows, and a finding for each body and each row that has no counterpart.
    """
    # The fields that errors name for a body without a row, and for a row without its body.
    if error.field not in ("PATCHES", "body"):
        raise error
    try:
        patches: Any = getattr(importlib.import_module(name), "PATCHES", None)
    except Exception as problem:  # whatever its code raises, also at a second look
        raise error from problem
    if type(patches) not in (tuple, list):
        raise error
    if not all(isinstance(patch, Patch) for patch in patches):
        raise error
    pack = PackSource(name)
    without_body = [patch for patch in patches if not pack.has_body(patch)]
    declared = {patch.body for patch in patches}
    # A row that names a body with the pack in front means it: one finding is enough.
    meant = {_without_pack(name, str(body)) for body in declared}
    findings = list(_without_row(pack, declared | meant))
    findings += _without_body(pack, without_body)
    if not findings:
        raise error
    return [row_of(name, patch) for patch in patches], findings


def _without_pack(pack: str, body: str) -> str:
    """Return the name of a body without the name of its pack in front, or of a part of it."""
    name = body.rpartition(".")[2]
    if f".{pack}.{name}".endswith(f".{body}"):
        return name
    return body


def _without_row(
    pack: "PackSource", declared: Collection[str | None]
) -> Iterator[Finding]:
    """Find the bodies of a pack that no row names.

    Args:
        pack: The pack.
        declared: The bodies that its rows name; None for a row without one.
    """
    for body in sorted(pack.bodies.keys() - declared):
        message = f"no row of pack {pack.name} names {body}.py, so it is never loaded"
        fix = "add a row to PATCHES, or delete the file"
        yield Finding(
            codes.BODY_WITHOUT_ROW, message, fix, file=shown(pack.bodies[body]), line=1
        )


def _without_body(pack: "PackSource", patches: Iterable[Patch]) -> Iterator[Finding]:
    """Make the findings of patches that name a body which is not in their pack."""
    for patch in patches:
        message = (
            f"{patch.name} names the body {patch.body!r}, which is not in pack "
            f"{pack.name}"
        )
        fix = f"write {patch.body}.py, or delete the row"
        bodies = [*pack.bodies]
        # `patch_a.py` is the file of the body `patch_a`.
        meant = get_close_matches(str(patch.body).removesuffix(".py"), bodies, 1, _SLIP)
        plain = _without_pack(pack.name, str(patch.body))
        if plain in pack.bodies and plain != patch.body:
            message += f" by this name; did you mean {plain}?"
            fix = f"name {plain} in the row, without the pack's name in front"
        elif meant:
            message += f"; did you mean {meant[0]}?"
            fix = f"name {meant[0]} in the row"
        elif "." in plain:
            name = plain.rpartition(".")[2]
            fix = f"move it to {name}.py in the folder of the pack, and name {name} in the row"
        file, line = pack.row_place(patch.name)
        yield Finding(
            codes.ROW_WITHOUT_BODY, message, fix, patch.name, file=file, line=line
        )


class PackSource:
    """The source of a pack: its rows, its bodies, and its own package as if it were a release.

    Args:
        name: The name of the pack's module, which has been imported.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        module = sys.modules[name]
        # A namespace package has no file; messages then name one that does not exist.
        file = getattr(module, "__file__", None)
        self.path = Path(file or f"{name}.py")
        self._folders = [Path(folder) for folder in getattr(module, "__path__", ())]
        module_path = self.path
        if self._folders:
            module_path = self._folders[0]
        # The folder that its top package is in: `/lib` for `a.b` at `/lib/a/b`.
        self.root = module_path.parents[name.count(".")]
        self._row_places: dict[str, Place] = {}
        # The whole top package, as bodies import helpers from all of it. It has no version.
        package = name.partition(".")[0]
        source = Tree(f"pack {name}", None, self.root, package)
        self.as_release = CheckedRelease(source.name, name, "", lambda: source)

    @functools.cached_property
    def _classes_of_super(self) -> dict[tuple[str, str], Collection[str]]:
        """What `classes_of_super` has answered, by the body and the name in it."""
        return {}

    @functools.cached_property
    def bodies(self) -> Mapping[str, Path]:
        """The `patch_<module>.py` files in it, by the name of the module."""
        files: list[Path] = []
        for folder in self._folders:
            files += folder.glob("patch_*.py")
        # Python imports the file in the first folder that has one; so that one is set last.
        return {
            file.stem: file for file in reversed(files) if _BODY.fullmatch(file.stem)
        }

    def has_body(self, patch: Patch) -> bool:
        """Whether the body that a patch names is there; True for a patch without a body.

        Args:
            patch: The patch.
        """
        if patch.body is None or patch.body in self.bodies:
            return True
        # Python's search looks at what follows the last dot alone.
        if "." in patch.body:
            return False
        # The body may also be a folder, or a compiled module.
        folders = [str(folder) for folder in self._folders]
        dotted_name = f"{self.name}.{patch.body}"
        return PathFinder.find_spec(dotted_name, folders) is not None

    def facts(self, row: Row, name: str) -> Facts:
        """Return what the source says of an object of a row's body.

        Args:
            row: The row.
            name: The object's name in the body.
        """
        return self.as_release.facts(Target(row.body, name))

    def definition(self, row: Row, name: str) -> ast.AST | None:
        """Return the definition of an object of a row's body.

        Args:
            row: The row.
            name: The object's name in the body.

        Returns:
            The definition; None if there is none, or if there are several.
        """
        if row.patch.body is None:
            return None
        resolved = self.as_release.resolver.resolve(Target(row.body, name))
        if len(resolved.variants) > 1 or not resolved.nodes:
            return None
        return resolved.nodes[0]

    def classes_of_super(self, row: Row, name: str) -> Collection[str]:
        """Name the classes that a function of a row's body passes to `super`, "" for none passed.

        Args:
            row: The row.
            name: The function's name in the body.

        Returns:
            The dotted names; none if the object is no function.
        """
        # The same for every release, of which there may be hundreds.
        key = (row.body, name)
        if key not in self._classes_of_super:
            node = self.definition(row, name)
            names = classes_of_super(node) if isinstance(node, DEFS) else set()
            self._classes_of_super[key] = names
        return self._classes_of_super[key]

    def place(self, row: Row, name: str = "") -> Place:
        """Return the file and line of an object of a row's body; if it has none, of the row.

        Args:
            row: The row.
            name: The object's name in the body; '' for the row itself.
        """
        if name and row.patch.body is not None:
            facts = self.facts(row, name)
            package = self.name.partition(".")[0]
            # If the body only imports the object from another package, the lines are in that one.
            defining_package = facts.module.partition(".")[0]
            if facts.lines and defining_package == package:
                return shown(self.root / facts.path), facts.lines[0]
        return self.row_place(row.name)

    def file(self, path: str) -> str:
        """Return the path of a file as messages show it.

        Args:
            path: The file, from the root of the pack's source.
        """
        return shown(self.root / path)

    def row_place(self, name: str) -> Place:
        """Return the file and line where a row's name is written.

        Args:
            name: The row's name.

        Returns:
            Its place; the pack's file without a line if the name is not found there.
        """
        if not self._row_places:
            self._find_rows()
        if name not in self._row_places:
            place = place_of_row(self.name, name)
            if place is None:
                place = (shown(self.path), None)
            self._row_places[name] = place
        return self._row_places[name]

    def _find_rows(self) -> None:
        """Note where rows are declared: at once, as a pack may have a thousand of them."""
        try:
            text = self.path.read_text("utf-8", errors="replace")
        except OSError:
            return
        file = shown(self.path)
        line = 1
        position = 0
        for match in _NAME_OF_ROW.finditer(text):
            line += text.count("\n", position, match.start())
            position = match.start()
            self._row_places.setdefault(match[1], (file, line))
