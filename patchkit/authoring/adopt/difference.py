"""What one text of a module has other than another: as changes, and the body that they need."""

import ast
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.authoring.adopt.definitions import Definitions, names_in
from patchkit.authoring.adopt.edits import edits
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.errors import ScaffoldError

_AT_IMPORT = "it runs as the module is imported, or defines something under a condition"
_CLASS = "bases, decorators or keywords of a class are those that it was made with"
_FIELD = "it is a field, of which its class is made"


class Left(NamedTuple):
    """Code that no row says, and why; the line is of the old text where that has it alone."""

    file: str
    line: int
    code: str
    reason: str
    place: str = ""
    used_by: Sequence[str] = ()  # the rows whose new code names it


def difference(path: str, old: bytes, new: bytes) -> "ModuleDifference":
    """Compare two texts of a module; raises UpstreamError where one of them cannot be parsed."""
    found = ModuleDifference(Definitions.of(path, old), Definitions.of(path, new))
    found.run()
    return found


@dataclass
class ModuleDifference:
    """The changes that make a module of another, and what they take from a body."""

    before: Definitions
    after: Definitions
    changes: list[Change] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    imports: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)  # names in edited code

    @property
    def module(self) -> str:
        """The name of both."""
        return self.before.tree.name

    @property
    def body(self) -> str:
        """The text of the body; '' where no change takes anything from it."""
        imports = "\n".join(sorted(set(self.imports.values())))
        parts = [f"from __future__ import annotations\n\n{imports}".strip(), *self.parts.values()]
        return "\n\n\n".join(parts) + "\n" if self.imports or self.parts else ""

    def run(self) -> None:
        """Go through what differs: what is new first, as what is changed may use it."""
        old, new = self.before.named, self.after.named
        changed = [one for one in new if one in old and _mark(old[one]) != _mark(new[one])]
        for name in [*_outermost(new, old), *changed]:
            try:
                self.changes += self._changes_of(name, new[name])
            except ScaffoldError as error:
                self._leave(name, new[name], str(error))
        for name in _outermost(old, new):
            self._leave(name, old[name], "it is gone there, and stays here: no row takes it away")
        known = {of_nodes([one]) for one in self.before.others}
        for one in self.after.others:
            is_for_types = dotted(getattr(one, "test", None)).endswith("TYPE_CHECKING")
            if of_nodes([one]) not in known and not is_for_types:
                self._leave("", one, _AT_IMPORT)
        self._bind_imports()

    def _leave(self, name: str, node: ast.stmt, reason: str) -> None:
        place = f"{self.module}:{name}" if name else self.module
        code = ast.unparse(node).partition("\n")[0]
        self.left.append(Left(self.after.tree.path, node.lineno, code, reason, place))

    def _changes_of(self, name: str, node: ast.stmt) -> list[Change]:
        target, old = f"{self.module}:{name}", self.before.named.get(name)
        owner, _, last = name.rpartition(".")
        if owner and isinstance(node, ast.AnnAssign):
            if old:
                raise ScaffoldError(_FIELD)
            return [self._new_field(owner, last, node)]
        if old is None:
            return [Add(target, by=self._write(name))]
        if isinstance(node, ast.ClassDef):
            raise ScaffoldError(_CLASS)
        made = None
        if isinstance(node, DEFS) and isinstance(old, DEFS):
            made = edits(self.before.text(old), self.after.text(node))
        if made is None:
            return [Replace(target, by=self._write(name))]
        self._used |= names_in(node)
        return [Edit(target, old=one.old, new=one.new) for one in made]

    def _new_field(self, owner: str, name: str, node: ast.AnnAssign) -> AddField:
        decorators = getattr(self.after.named[owner], "decorator_list", ())
        marks = {dotted(getattr(one, "func", one)).rpartition(".")[2] for one in decorators}
        try:
            default = ast.literal_eval(node.value or node.target)
        except ValueError:
            raise ScaffoldError(f"{_FIELD}, with a default that is no literal") from None
        if not marks & {"dataclass", "config"}:
            raise ScaffoldError(_FIELD)
        self._import(names_in(node.annotation))
        type_ = ast.unparse(node.annotation)
        return AddField(f"{self.module}:{owner}", name=name, type=type_, default=default)

    def _write(self, name: str) -> str:
        """Write a definition into the body, with the imports that it needs; name it there."""
        node, last = self.after.named[name], name.rpartition(".")[2]
        if last in ("fset", "fdel"):
            raise ScaffoldError("part of a property can be edited, not replaced")
        is_taken = last in {*self.parts, *self.after.named, *self.after.imports}
        by = name.replace(".", "_") if "." in name and is_taken else last
        text = self.after.moved_out(name, by)
        names = names_in(node) | ({name.partition(".")[0]} if "super(" in text else set())
        self._import(names - {by})
        self.parts[by] = text
        return by

    def _import(self, names: Iterable[str]) -> None:
        """Let the body have names: from where the new text has them, else from the module."""
        for one in sorted(names):
            if one in self.after.imports:
                self.imports[one] = self.after.imports[one]
            elif one in self.before.named:
                self.imports[one] = f"from {self.module} import {one}"

    def _bind_imports(self) -> None:
        """Bind in the module what edited code uses, and only the new text imports."""
        old, new = self.before, self.after
        for name in sorted(self._used & new.imports.keys()):
            if old.imports.get(name) != new.imports[name] and name not in old.named:
                kind = Replace if name in old.imports else Add
                self.imports[name] = new.imports[name]
                self.changes.insert(0, kind(f"{self.module}:{name}", by=name))


def _outermost(names: Collection[str], others: Collection[str]) -> list[str]:
    """List what others lack, but not what lies in what they lack."""
    missing = [one for one in names if one not in others]
    return [one for one in missing if one.rpartition(".")[0] not in missing]


def _mark(node: ast.stmt) -> str:
    """Hash a definition; of a class what it is made with, as its parts are compared themselves."""
    if not isinstance(node, ast.ClassDef):
        return of_nodes([node])
    return of_nodes([ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list)])
