"""Compares two versions of a module: which changes of a row turn the old one into the new one."""

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.edits import edits
from patchkit.authoring.adopt.field_text import read_default
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.errors import ScaffoldError

_AT_IMPORT = "it runs as the module is imported, or defines something under a condition"
_CLASS = "bases, decorators or keywords of a class are those that it was made with"
_FIELD = "it is a field, of which its class is made"


class UnexpressedCode(NamedTuple):
    """Code that no row can express.

    Args:
        file: the path of its file in the release.
        line: its line there; that of the old text where the new one lacks the code.
        code: its first line.
        reason: why no row can express it.
        place: the target that a row for it would have; its module where it defines nothing.
        used_by: the names of the rows whose new code uses it.
    """

    file: str
    line: int
    code: str
    reason: str
    place: str = ""
    used_by: Sequence[str] = ()


def difference(path: str, old: bytes, new: bytes) -> "ModuleDifference":
    """Return the changes, and their body, that turn one version of a module into another.

    Args:
        path: the path of the file in its release.
        old: the text in the release.
        new: the text that the changes shall result in.

    Raises:
        UpstreamError: one of the texts cannot be parsed.
    """
    module = ModuleDifference(Definitions.of(path, old), Definitions.of(path, new))
    module.run()
    return module


@dataclass
class ModuleDifference:
    """The changes that turn one version of a module into another, and the body that they need.

    Args:
        before: the definitions of the old text.
        after: the definitions of the new text.
        changes: the changes; this and the following fields are filled in by `run`.
        left: what differs and no change can express.
        imports: the import statements of the body, by the name that each binds.
        parts: the texts of the definitions in the body, by name.
    """

    before: Definitions
    after: Definitions
    changes: list[Change] = field(default_factory=list)
    left: list[UnexpressedCode] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    _names_in_edits: set[str] = field(default_factory=set)
    _lines: dict[str, int] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The name of both modules."""
        return self.before.tree.name

    @property
    def body(self) -> str:
        """The text of the body; '' where no change takes anything from it."""
        if not self.imports and not self.parts:
            return ""
        imports = {
            statement
            for name, statement in self.imports.items()
            if name not in self.parts
        }
        lines = "\n".join(sorted(imports))
        head = f"from __future__ import annotations\n\n{lines}".strip()
        # In the order of the new text, as a value may be made from one that stands above it.
        names = sorted(self.parts, key=self._lines.__getitem__)
        parts = [self.parts[name] for name in names]
        return "\n\n\n".join([head, *parts]) + "\n"

    def run(self) -> None:
        """Fill in the changes: new definitions first, as changed ones may use them."""
        old = self.before.named
        new = self.after.named
        changed = [
            name for name in new if name in old and _hash(old[name]) != _hash(new[name])
        ]
        for name in [*_outermost(new, old), *changed]:
            try:
                self.changes += self._changes_of(name, new[name])
            except ScaffoldError as error:
                self._list_unexpressed(name, new[name], str(error))
        for name in _outermost(old, new):
            self._list_unexpressed(
                name,
                old[name],
                "it is gone there, and stays here: no row takes it away",
            )
        self._list_unnamed()
        self._bind_imports()

    def _list_unnamed(self) -> None:
        """List new statements that define nothing, such as a call: no change can express them."""
        old_hashes = {of_nodes([node]) for node in self.before.unnamed}
        for node in self.after.unnamed:
            # Nothing under `if TYPE_CHECKING:` runs, so that nothing is lost.
            is_for_types = dotted(getattr(node, "test", None)).endswith("TYPE_CHECKING")
            if of_nodes([node]) not in old_hashes and not is_for_types:
                self._list_unexpressed(name="", node=node, reason=_AT_IMPORT)

    def _list_unexpressed(self, name: str, node: ast.stmt, reason: str) -> None:
        """List a statement that no change can express.

        Args:
            name: the qualified name that it defines; '' for none.
            node: the statement.
            reason: why no change can express it.
        """
        target = self.module
        if name:
            target = f"{self.module}:{name}"
        first_line = ast.unparse(node).partition("\n")[0]
        self.left.append(
            UnexpressedCode(
                self.after.tree.path, node.lineno, first_line, reason, target
            )
        )

    def _changes_of(self, name: str, node: ast.stmt) -> list[Change]:
        """Return the changes for a definition that is new or has changed.

        Args:
            name: its qualified name.
            node: its statement in the new text.

        Raises:
            ScaffoldError: no change can express it.
        """
        target = f"{self.module}:{name}"
        old = self.before.named.get(name)
        owner, _, last = name.rpartition(".")
        if owner and isinstance(node, ast.AnnAssign):  # a field of a dataclass
            if old:
                raise ScaffoldError(_FIELD)
            return [self._new_field(owner, last, node)]
        if old is None:
            return [Add(target, by=self._write(name))]
        # `_hash` leaves out the members of a class: what differs are its bases or decorators.
        if isinstance(node, ast.ClassDef):
            raise ScaffoldError(_CLASS)
        # Edits are shortest; where they cannot do it, the body gets the new definition.
        text_edits = None
        if isinstance(node, DEFS) and isinstance(old, DEFS):
            text_edits = edits(self.before.text(old), self.after.text(node))
        if text_edits is None:
            return [Replace(target, by=self._write(name))]
        self._names_in_edits |= names_in(node)
        return [Edit(target, old=edit.old, new=edit.new) for edit in text_edits]

    def _new_field(self, owner: str, name: str, node: ast.AnnAssign) -> AddField:
        """Return the change that adds a field to a dataclass.

        Args:
            owner: the qualified name of the class.
            name: the name of the field.
            node: the statement that annotates it.

        Raises:
            ScaffoldError: its class is no dataclass, or its default is no literal.
        """
        # Without a default, the field's own name is evaluated, and refused as no literal.
        default_node = node.value or node.target
        try:
            default = read_default(default_node, self.after.imports)
        except ValueError:
            raise ScaffoldError(
                f"{_FIELD}, with a default that is no literal"
            ) from None
        if not _is_dataclass(self.after.named[owner]):
            raise ScaffoldError(_FIELD)
        self._import(names_in(node.annotation))
        annotation = ast.unparse(node.annotation)
        return AddField(
            f"{self.module}:{owner}", name=name, type=annotation, default=default
        )

    def _write(self, name: str) -> str:
        """Write a definition of the new text into the body, with the imports that it needs.

        Args:
            name: its qualified name in the new text.

        Returns:
            Its name in the body: `run` for `Engine.run`, or `Engine_run` where `run` is taken.

        Raises:
            ScaffoldError: it cannot stand outside of its class, such as the setter of a property.
        """
        node = self.after.named[name]
        owner = name.partition(".")[0]
        last = name.rpartition(".")[2]
        if last in ("fset", "fdel"):
            raise ScaffoldError("part of a property can be edited, not replaced")
        by = last
        if "." in name and last in {
            *self.parts,
            *self.after.named,
            *self.after.imports,
        }:
            by = name.replace(".", "_")
        text = self.after.moved_out(name, by)
        names = names_in(node)
        if "super(" in text:  # in the body, `super()` is written `super(Owner, self)`
            names.add(owner)
        self._import(names - {by})
        self.parts[by] = text
        self._lines[by] = node.lineno
        return by

    def _import(self, names: Iterable[str]) -> None:
        """Import names into the body: as the new text does, or from the module that defines them.

        Args:
            names: the names that the body's code uses.
        """
        for name in sorted(names):
            if name in self.after.imports:
                self.imports[name] = self.after.imports[name]
            elif name in self.before.named:
                self.imports[name] = f"from {self.module} import {name}"

    def _bind_imports(self) -> None:
        """Add changes that bind, in the module, the imported names that its Edits newly use.

        An Edit changes the text of a function, and not the imports at the top of its module.
        """
        old = self.before
        new = self.after
        for name in sorted(self._names_in_edits & new.imports.keys()):
            statement = new.imports[name]
            is_same = old.imports.get(name) == statement
            if is_same or name in old.named:
                continue
            target = f"{self.module}:{name}"
            change: Change = Add(target, by=name)
            if name in old.imports:
                change = Replace(target, by=name)
            self.imports[name] = statement
            self.changes.insert(0, change)  # before the Edits that use the name


def _is_dataclass(node: ast.stmt) -> bool:
    """Return whether a class has a decorator that makes dataclasses; vLLM's own is `config`."""
    for decorator in getattr(node, "decorator_list", ()):
        function = getattr(decorator, "func", decorator)
        if dotted(function).rpartition(".")[2] in ("dataclass", "config"):
            return True
    return False


def _outermost(names: Collection[str], baseline: Collection[str]) -> list[str]:
    """List the names that a baseline lacks, without the members of a class that it lacks.

    Args:
        names: qualified names.
        baseline: the qualified names that are there.
    """
    missing = [name for name in names if name not in baseline]
    return [name for name in missing if name.rpartition(".")[0] not in missing]


def _hash(node: ast.stmt) -> str:
    """Hash a definition, to tell whether it has changed.

    Of a class, only bases, keywords and decorators count: its members are compared one by one.
    """
    if not isinstance(node, ast.ClassDef):
        return of_nodes([node])
    return of_nodes(
        [ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list)]
    )
