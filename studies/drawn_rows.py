"""Draws rows that change a release of upstream a little; `rebased_rows.py` carries them on.

A row has upstream's own function, method or class with a small change: a line put in, a line taken
out, or another literal. Some of the targets are changed by a later release, some are not, and some
are gone there. A seed decides all of it.
"""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from small_changes import mutated

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS
from patchkit.authoring.scaffold.rows import new_pack
from patchkit.authoring.source.definitions import Definitions
from patchkit.authoring.source.edits import edits
from patchkit.authoring.source.global_names import unbound_names, used_names
from patchkit.core.rows.declaration import (
    Add,
    AddField,
    Change,
    Edit,
    Patch,
    Replace,
    Role,
    Wrap,
)
from patchkit.errors import PatchkitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

    from patchkit.analysis.upstream.reading.files import ReleaseSource

KINDS = (
    ("Replace function", "changes", 5),
    ("Replace function", "same", 2),
    ("Replace function", "gone", 1),
    ("Replace method", "changes", 5),
    ("Replace method", "same", 1),
    ("Replace method", "gone", 2),
    ("Replace class", "changes", 3),
    ("Replace class", "same", 1),
    ("Replace by subclass", "changes", 2),
    ("Edit", "changes", 7),
    ("Edit", "same", 1),
    ("Edit", "gone", 2),
    ("Wrap", "changes", 2),
    ("Wrap", "gone", 1),
    ("Add", "same", 1),
    ("Add", "comes", 1),
    ("AddField", "changes", 2),
    ("AddField", "comes", 1),
)
"""Kinds of rows, what later releases make of their targets, and how many rows are drawn."""
OF_ANY_FUNCTION = ("Edit", "Wrap")
OF_A_FILE = 4
"""How many definitions of a file are looked at for one kind of row."""
OF_ALL_FILES = 300
"""How many files are looked at for one kind of row."""
SHORTEST = 6
LONGEST_CLASS = 250


@dataclass
class Release:
    """The modules of a release.

    Args:
        version: Its version.
        source: Its files.
    """

    version: str
    source: ReleaseSource
    _modules: dict[str, Definitions | None] = field(default_factory=dict)

    @cached_property
    def python_files(self) -> list[str]:
        """The paths of its Python files."""
        return sorted(path for path in self.source.paths() if path.endswith(".py"))

    def module(self, path: str) -> Definitions | None:
        """Return what a file defines; None if the release does not have it."""
        if path not in self._modules:
            module = None
            if self.source.has(path):
                module = Definitions.of(path, self.source.read(path) or b"")
            self._modules[path] = module
        return self._modules[path]

    def defined(self, target: str) -> tuple[Definitions, str] | None:
        """Find what defines a target, by its own name; None if it is not there."""
        module_name, _, name = target.partition(":")
        stem = module_name.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            module = self.module(path)
            if module and name in module.named:
                return module, name
        return None


class DrawnRow(NamedTuple):
    """A pack of one row.

    Args:
        name: The name of the pack.
        kind: One of `KINDS`.
        fate: What becomes of the target: `changes`, `same`, `gone`, or `comes` for an Add.
        changes: What the row changes.
        body: The text of the body; '' where there is none.
    """

    name: str
    kind: str
    fate: str
    changes: tuple[Change, ...]
    body: str = ""

    @property
    def patch(self) -> str:
        """The name of the row."""
        return self.name.replace("_", "-")

    @property
    def target(self) -> str:
        """The target in the oldest release."""
        return str(self.changes[0].place)

    def write(self, folder: Path, requires: str) -> None:
        """Write the pack into a folder.

        Args:
            folder: The folder that packs are in.
            requires: The requirement of the row.
        """
        pack = folder / self.name
        pack.mkdir()
        body_name = f"patch_{self.name}"
        patch = Patch(
            name=self.patch,
            body=body_name if self.body else None,
            requires=(requires,),
            roles={Role.MAIN},
            changes=self.changes,
            why="drawn",
            upstream="none: drawn",
            sunset="never",
        )
        (pack / "__init__.py").write_bytes(new_pack(self.name, patch))
        if self.body:
            (pack / f"{body_name}.py").write_text(self.body)


class Place(NamedTuple):
    """A definition that a row may be drawn for.

    Args:
        path: The file.
        name: The qualified name.
    """

    path: str
    name: str


@dataclass
class Drawing:
    """Draws rows.

    Args:
        releases: The releases, the oldest first.
        paths: The files that rows are drawn from.
        random: Chooses.
    """

    releases: Sequence[Release]
    paths: Sequence[str]
    random: Random
    _used: set[Place] = field(default_factory=set)
    _count: int = 0

    def _places(self, kind: str, *, comes: bool) -> Iterator[Place]:
        """Yield definitions in a drawn order, a few of each file.

        Args:
            kind: The kind of row that they are for.
            comes: Whether they are functions that only the latest release has.
        """
        paths = self.random.sample(self.paths, len(self.paths))
        if kind == "AddField":  # most dataclasses are there
            paths = [path for path in paths if "config" in path]
        for path in paths[:OF_ALL_FILES]:
            first = self.releases[0].module(path)
            last = self.releases[-1].module(path)
            names: list[str] = []
            if comes and first and last:
                for name, node in last.named.items():
                    is_function = isinstance(node, ast.FunctionDef) and "." not in name
                    if is_function and name not in first.binders:
                        names.append(name)
            elif first:
                for name, node in first.named.items():
                    if isinstance(node, (*DEFS, ast.ClassDef)):
                        names.append(name)
            for name in self.random.sample(names, min(OF_A_FILE, len(names))):
                yield Place(path, name)

    def _fate(self, path: str, name: str) -> str:
        """What becomes of a definition in later releases."""
        hashes: set[str] = set()
        for release in self.releases:
            module = release.module(path)
            if module is None or name not in module.named:
                return "gone"
            hashes.add(of_nodes([module.named[name]]))
        return "changes" if len(hashes) > 1 else "same"

    def rows(self, kind: str, fate: str) -> Iterator[DrawnRow]:
        """Yield rows of a kind, in the order in which they are drawn.

        Args:
            kind: One of `KINDS`.
            fate: What is to become of the target.
        """
        comes = kind == "Add" and fate == "comes"
        expected = fate
        if kind == "AddField":
            expected = "changes"
        for place in self._places(kind, comes=comes):
            is_fit = comes or self._fate(place.path, place.name) == expected
            if place in self._used or not is_fit:
                continue
            try:
                row = self._row(kind, fate, self._count, place)
            except (PatchkitError, SyntaxError):
                continue
            if row:
                self._count += 1
                self._used.add(place)
                yield row

    def _row(self, kind: str, fate: str, number: int, place: Place) -> DrawnRow | None:
        """Draw a row for one definition; None where it is not fit for it."""
        is_later = kind == "Add" and fate == "comes"
        module = self.releases[-1 if is_later else 0].module(place.path)
        assert module
        node = module.named[place.name]
        wants_class = kind in ("Replace class", "Replace by subclass", "AddField")
        size = len(module.text(node).splitlines())
        is_long = isinstance(node, ast.ClassDef) and size > LONGEST_CLASS
        is_accessor = place.name.endswith((".fset", ".fdel"))
        if isinstance(node, ast.ClassDef) != wants_class or is_accessor or is_long:
            return None
        is_member = "." in place.name
        wants_member = kind in ("Replace method", *OF_ANY_FUNCTION)
        wants_top = kind != "Replace method"
        if size < SHORTEST or not (wants_member if is_member else wants_top):
            return None
        name = f"row_{number}"
        target = f"{module.tree.name}:{place.name}"
        if kind == "AddField":
            change = self._field(fate, number, place, target)
            return DrawnRow(name, kind, fate, (change,)) if change else None
        if kind == "Edit":
            changes = self._edits(module, number, place, target)
            return DrawnRow(name, kind, fate, changes) if changes else None
        if kind == "Wrap" or (kind == "Add" and fate == "same"):
            body = (
                "def own(wrapped, instance, args, kwargs):\n    return wrapped(*args)\n"
            )
            own: Change = Wrap(target, by="own")
            if kind == "Add":
                own = Add(f"{module.tree.name}:own_{number}", by="own")
            return DrawnRow(name, kind, fate, (own,), body)
        return self._copy(DrawnRow(name, kind, fate, ()), module, number, place)

    def _copy(
        self, row: DrawnRow, module: Definitions, number: int, place: Place
    ) -> DrawnRow | None:
        """Draw a row whose body has a copy of a definition, or of a member of a class."""
        member = place.name
        if row.kind == "Replace by subclass":
            methods = [
                name
                for name, node in module.named.items()
                if name.rpartition(".")[0] == place.name and isinstance(node, DEFS)
            ]
            if not methods:
                return None
            member = self.random.choice(methods)
        by = member.rpartition(".")[2]
        text = module.moved_out(member, by)
        own = text
        if row.fate != "comes":
            own = mutated(text, self.random, number, self._changed_lines(place, text))
            if own == text:
                return None
        target = f"{module.tree.name}:{place.name}"
        change: Change = Replace(target, by=by, unrelated=row.kind == "Replace class")
        if row.kind == "Replace by subclass":
            by = f"Own{place.name}"
            lines = [f"    {line}".rstrip() for line in own.split("\n")]
            own = "\n".join([f"class {by}({place.name}):", *lines])
            change = Replace(target, by=by)
        elif row.kind == "Add":
            change = Add(target, by=by)
        oldest = self.releases[0].module(place.path)
        assert oldest
        imports = imports_for(oldest, own, by)
        body = f"{imports}\n\n\n{own}\n"
        if unbound_names(body) or f"import {by}\n" in f"{imports}\n":
            return None
        return row._replace(changes=(change,), body=body)

    def _edits(
        self, module: Definitions, number: int, place: Place, target: str
    ) -> tuple[Change, ...]:
        """Draw Edits of a function; none where nothing can be edited."""
        text = module.renamed(place.name, place.name.rpartition(".")[2])
        own = mutated(text, self.random, number, self._changed_lines(place, text))
        found = edits(text, own) or ()
        return tuple(Edit(target, old=edit.old, new=edit.new) for edit in found)

    def _changed_lines(self, place: Place, text: str) -> list[int]:
        """The lines beside which a later release changes a definition first; often none."""
        if self.random.random() < 0.4:
            return []
        for release in self.releases[1:]:
            module = release.module(place.path)
            if module is None or place.name not in module.named:
                return []
            later = module.as_in_body(place.name, place.name.rpartition(".")[2])
            matcher = difflib.SequenceMatcher(
                None, text.splitlines(), later.splitlines(), autojunk=False
            )
            lines = [
                start + 1 for tag, start, *_ in matcher.get_opcodes() if tag != "equal"
            ]
            if lines:
                return lines
        return []

    def _field(
        self, fate: str, number: int, place: Place, target: str
    ) -> AddField | None:
        """Draw a field of a dataclass: one of our own, or one that a later release brings."""
        first, last = (
            release.module(place.path)
            for release in (self.releases[0], self.releases[-1])
        )
        assert first
        assert last
        node = first.named[place.name]
        later_node = last.named[place.name]
        assert isinstance(node, ast.ClassDef)
        assert isinstance(later_node, ast.ClassDef)
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        if "dataclass" not in decorators:
            return None
        if fate != "comes":
            return AddField(target, name=f"own_{number}", type="int", default=number)
        old_names = fields_of(node)
        for name, statement in fields_of(later_node).items():
            if name not in old_names and isinstance(statement.value, ast.Constant):
                type_ = ast.unparse(statement.annotation)
                default = statement.value.value
                return AddField(target, name=name, type=type_, default=default)
        return None


def fields_of(node: ast.ClassDef) -> dict[str, ast.AnnAssign]:
    """The annotated members of a class, by name."""
    return {
        ast.unparse(one.target): one
        for one in node.body
        if isinstance(one, ast.AnnAssign)
    }


def imports_for(module: Definitions, text: str, own: str) -> str:
    """Write the imports with which code of a module stands in a body.

    Args:
        module: The module.
        text: The code.
        own: The name that the code defines.
    """
    lines: set[str] = set()
    for name in used_names(text) - {own}:
        if name in module.imports:
            lines.add(module.imports[name])
        elif name in module.named:
            lines.add(f"from {module.tree.name} import {name}")
    return "\n".join(["from __future__ import annotations", *sorted(lines)])
