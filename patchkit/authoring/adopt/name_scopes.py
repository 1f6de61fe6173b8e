"""Resolves names of a pile's module to what its imports and plain assignments bind them to."""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.uses.scopes import imported

_DISPLAYS = (ast.Tuple, ast.List)
_MODULE_LOOKUPS = ("sys.modules.get", "importlib.import_module", "import_module")


@dataclass
class NameScope:
    """What the names of a scope stand for.

    A name that is bound under a condition may stand for several things.

    Args:
        dotted_names: By name, what it may stand for, such as `vllm.v1.request.Request`.
        texts: By name, the strings that it may be.
        loop_values: By name that a loop binds, its expression in one turn of that loop.
    """

    dotted_names: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    loop_values: dict[str, ast.expr] = field(default_factory=dict)

    def inner(self, own_names: Iterable[str] = ()) -> "NameScope":
        """Make the scope of code inside this one.

        Args:
            own_names: Names that the code binds itself, and that mean nothing there yet.
        """
        hidden_names = set(own_names)
        return NameScope(
            _without(self.dotted_names, hidden_names),
            _without(self.texts, hidden_names),
            dict(self.loop_values),
        )

    def bind(self, target: ast.expr, value: ast.expr, *, is_plain: bool = True) -> None:
        """Bind a name as an assignment does.

        Args:
            target: What is assigned to; nothing but a name is bound.
            value: The value of the assignment.
            is_plain: Whether the assignment runs in any case, so that the name can no longer
                stand for what it did before.
        """
        if isinstance(target, ast.Name):
            dotted_names = self.dotted_names_of(value)
            _bind(self.dotted_names, target.id, dotted_names, is_plain=is_plain)
            _bind(self.texts, target.id, self.strings_of(value), is_plain=is_plain)

    def of_turn(self, target: ast.expr, value: ast.expr) -> "NameScope":
        """Make the scope of one turn of a loop.

        Args:
            target: What the loop binds.
            value: What it binds that to in this turn.
        """
        pairs = [(target, value)]
        if isinstance(target, _DISPLAYS) and isinstance(value, _DISPLAYS):
            pairs = list(zip(target.elts, value.elts, strict=False))
        inner = self.inner(part.id for part, _ in pairs if isinstance(part, ast.Name))
        for part, part_value in pairs:
            if isinstance(part, ast.Name):
                inner.loop_values[part.id] = part_value
                inner.bind(part, part_value)
        return inner

    def bind_import(self, statement: ast.stmt, module: ModuleTree, *, is_plain: bool) -> None:
        """Bind the names that an import binds.

        Args:
            statement: The import.
            module: The module that it is in, for relative imports.
            is_plain: See `bind`.
        """
        for name, target, _ in imported(statement, module):
            dotted_name = str(target).replace(":", ".")
            _bind(self.dotted_names, name, [dotted_name], is_plain=is_plain)

    def dotted_names_of(self, node: ast.expr) -> list[str]:
        """List the dotted names that an expression may stand for, such as `up.lib.C.m`.

        An item has its key in brackets: `up.lib.TABLE['a']`.
        """
        if isinstance(node, ast.Name):
            return self.dotted_names.get(node.id, [])
        if isinstance(node, ast.Attribute):
            return [f"{owner}.{node.attr}" for owner in self.dotted_names_of(node.value)]
        if isinstance(node, ast.IfExp):
            return [*self.dotted_names_of(node.body), *self.dotted_names_of(node.orelse)]
        if isinstance(node, _DISPLAYS):
            return [name for element in node.elts for name in self.dotted_names_of(element)]
        if isinstance(node, ast.Call):
            if node.args and dotted(node.func) in _MODULE_LOOKUPS:
                return self.strings_of(node.args[0])
            return []
        if isinstance(node, ast.Subscript):
            return self._dotted_names_of_item(node)
        return []

    def _dotted_names_of_item(self, node: ast.Subscript) -> list[str]:
        keys = self.strings_of(node.slice)
        container = node.value
        if dotted(container) == "sys.modules":
            return keys
        if isinstance(container, ast.Attribute) and dotted(container).endswith(".__dict__"):
            owners = self.dotted_names_of(container.value)
            return [f"{owner}.{key}" for owner in owners for key in keys]
        owners = self.dotted_names_of(container)
        return [f"{owner}[{key!r}]" for owner in owners for key in keys]

    def strings_of(self, node: ast.expr) -> list[str]:
        """List the strings that an expression may be."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        if isinstance(node, ast.Name):
            return self.texts.get(node.id, [])
        if isinstance(node, ast.FormattedValue):
            return self.strings_of(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = [self.strings_of(part) for part in node.values]
            if not all(parts):
                return []
            return ["".join(strings[0] for strings in parts)]
        if isinstance(node, _DISPLAYS):
            return [text for element in node.elts for text in self.strings_of(element)]
        return []


def _without(meanings: Mapping[str, list[str]], names: set[str]) -> dict[str, list[str]]:
    """Copy what names stand for, without those of some names."""
    return {name: list(meaning) for name, meaning in meanings.items() if name not in names}


def _bind(
    meanings: dict[str, list[str]], name: str, new_meanings: Iterable[str], *, is_plain: bool
) -> None:
    """Set what a name stands for, or add to that."""
    previous = [] if is_plain else meanings.get(name, [])
    meanings[name] = list(dict.fromkeys([*previous, *new_meanings]))
