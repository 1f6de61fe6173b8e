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
        """Return the scope of code inside this one.

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
        if not isinstance(target, ast.Name):
            return
        name = target.id
        dotted_names = self.dotted_names_of(value)
        strings = self.strings_of(value)
        _bind(self.dotted_names, name, dotted_names, is_plain=is_plain)
        _bind(self.texts, name, strings, is_plain=is_plain)

    def of_turn(self, target: ast.expr, value: ast.expr) -> "NameScope":
        """Return the scope of one turn of a loop.

        Args:
            target: What the loop binds.
            value: What it binds that to in this turn.
        """
        pairs = [(target, value)]
        if isinstance(target, _DISPLAYS) and isinstance(value, _DISPLAYS):
            pairs = list(zip(target.elts, value.elts, strict=False))
        named = [
            (part, part_value)
            for part, part_value in pairs
            if isinstance(part, ast.Name)
        ]
        inner = self.inner(part.id for part, _ in named)
        for part, part_value in named:
            inner.loop_values[part.id] = part_value
            inner.bind(part, part_value)
        return inner

    def bind_import(
        self, statement: ast.stmt, module: ModuleTree, *, is_plain: bool
    ) -> None:
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
        """Return the dotted names that an expression may stand for, such as `up.lib.C.m`.

        An item has its key in brackets: `up.lib.TABLE['a']`.

        Args:
            node: The expression.
        """
        if isinstance(node, ast.Name):
            return self.dotted_names.get(node.id, [])
        if isinstance(node, ast.Attribute):
            owners = self.dotted_names_of(node.value)
            return [f"{owner}.{node.attr}" for owner in owners]
        if isinstance(node, ast.IfExp):
            return self.dotted_names_of(node.body) + self.dotted_names_of(node.orelse)
        if isinstance(node, _DISPLAYS):
            names: list[str] = []
            for element in node.elts:
                names += self.dotted_names_of(element)
            return names
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
        container_name = dotted(container)
        if container_name == "sys.modules":
            return keys
        names = []
        if isinstance(container, ast.Attribute) and container_name.endswith(
            ".__dict__"
        ):
            for owner in self.dotted_names_of(container.value):
                names += [f"{owner}.{key}" for key in keys]
        else:
            for owner in self.dotted_names_of(container):
                names += [f"{owner}[{key!r}]" for key in keys]
        return names

    def strings_of(self, node: ast.expr) -> list[str]:
        """Return the strings that an expression may be.

        Args:
            node: The expression.
        """
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return [node.value]
            return []
        if isinstance(node, ast.Name):
            return self.texts.get(node.id, [])
        if isinstance(node, ast.FormattedValue):
            return self.strings_of(node.value)
        if isinstance(node, ast.JoinedStr):
            return self._strings_of_template(node)
        if isinstance(node, _DISPLAYS):
            texts: list[str] = []
            for element in node.elts:
                texts += self.strings_of(element)
            return texts
        return []

    def _strings_of_template(self, node: ast.JoinedStr) -> list[str]:
        """Return the string that an f-string is, if all of its parts are known."""
        text = ""
        for part in node.values:
            strings = self.strings_of(part)
            if not strings:
                return []
            text += strings[0]
        return [text]


def _without(
    meanings: Mapping[str, list[str]], names: set[str]
) -> dict[str, list[str]]:
    """Copy what names stand for, without those of some names."""
    return {
        name: list(meaning) for name, meaning in meanings.items() if name not in names
    }


def _bind(
    meanings: dict[str, list[str]],
    name: str,
    new_meanings: Iterable[str],
    *,
    is_plain: bool,
) -> None:
    """Set what a name stands for, or add to that."""
    all_meanings: list[str] = []
    if not is_plain:
        all_meanings += meanings.get(name, [])
    all_meanings += new_meanings
    meanings[name] = list(dict.fromkeys(all_meanings))
