"""Resolves the names in a module of a pile, by its imports and simple assignments.

`lib` stands for `up.lib` after `from up import lib`, and `Engine` for `up.lib.Engine` after
`Engine = lib.Engine`. Nothing is imported.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.analysis.upstream.resolving.syntax import DEFS, dotted
from patchkit.analysis.uses.scopes import imported

_DISPLAYS = (ast.Tuple, ast.List)
_MODULE_LOOKUPS = ("sys.modules.get", "importlib.import_module", "import_module")


@dataclass
class NameScope:
    """What the names in a module or a function stand for.

    A name that is bound under a condition may stand for several things.

    Args:
        dotted_names: By name, what it may stand for, such as `vllm.v1.request.Request`.
        texts: By name, the strings that it may be.
        loop_values: By variable of a loop, its value in one turn, as an expression.
    """

    dotted_names: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    loop_values: dict[str, ast.expr] = field(default_factory=dict)

    def inner(self, own_names: Iterable[str] = ()) -> "NameScope":
        """Return a copy of the scope, for a function or a loop inside of it.

        Args:
            own_names: Names that hide those of this scope, such as the function's parameters.
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
            target: What is assigned to: a name, or several, as in `a, b = lib.C, lib.D`.
            value: The value of the assignment.
            is_plain: Whether the assignment always runs, so that the name has no other meaning
                any more.
        """
        if isinstance(target, _DISPLAYS) and isinstance(value, _DISPLAYS):
            for part, part_value in zip(target.elts, value.elts, strict=False):
                self.bind(part, part_value, is_plain=is_plain)
        if not isinstance(target, ast.Name):
            return
        name = target.id
        dotted_names = self.dotted_names_of(value)
        strings = self.strings_of(value)
        _bind(self.dotted_names, name, dotted_names, is_plain=is_plain)
        _bind(self.texts, name, strings, is_plain=is_plain)

    def of_turn(self, target: ast.expr, value: ast.expr) -> "NameScope":
        """Return the scope of one turn of a `for` loop.

        Args:
            target: What the loop assigns to: a name, or several, as in `for owner, name in …`.
            value: What it assigns in this turn, as an expression.
        """
        pairs = [(target, value)]
        if isinstance(target, _DISPLAYS) and isinstance(value, _DISPLAYS):
            # Not strict: where the numbers differ, as with `*rest`, what can be paired is.
            pairs = list(zip(target.elts, value.elts, strict=False))
        variables = [
            (variable, variable_value)
            for variable, variable_value in pairs
            if isinstance(variable, ast.Name)
        ]
        turn_scope = self.inner(variable.id for variable, _ in variables)
        for variable, variable_value in variables:
            turn_scope.loop_values[variable.id] = variable_value
            turn_scope.bind(variable, variable_value)
        return turn_scope

    def bind_import(
        self, statement: ast.stmt, module: ModuleTree, *, is_plain: bool
    ) -> None:
        """Bind the names that an import statement binds.

        Args:
            statement: The import.
            module: The module that it is in, for relative imports.
            is_plain: Whether the import always runs, so that the names have no other meaning.
        """
        # For `import a.b`, the name `a` stands for `a`, while the import is of `a.b`.
        for name, target, _imported in imported(statement, module):
            dotted_name = str(target).replace(":", ".")
            if name == "*":
                self._bind_all(dotted_name, module)
            else:
                _bind(self.dotted_names, name, [dotted_name], is_plain=is_plain)

    def _bind_all(self, source: str, module: ModuleTree) -> None:
        """Bind the names that a module uses and does not bind, as `from source import *` may do.

        Names of Python's library, and of the module's own package, are none of another package.
        """
        top = source.partition(".")[0]
        own_top = module.name.partition(".")[0]
        if top == own_top or top in sys.stdlib_module_names:
            return
        for name in sorted(unbound_names_in(module.tree)):
            _bind(self.dotted_names, name, [f"{source}.{name}"], is_plain=False)

    def dotted_names_of(self, node: ast.expr) -> list[str]:
        """Return the dotted names that an expression may stand for, such as `up.lib.C.m`.

        An item has its key in brackets: `up.lib.TABLE['a']`.

        Args:
            node: The expression.

        Returns:
            The dotted names; none where the expression is no name, attribute or item that is known.
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
            return self._dotted_names_of_call(node)
        if isinstance(node, ast.Subscript):
            return self._dotted_names_of_item(node)
        return []

    def _dotted_names_of_call(self, node: ast.Call) -> list[str]:
        """Return what `import_module(name)`, `getattr(lib, name)` and `vars(lib)` stand for."""
        function = dotted(node.func)
        if not node.args:
            return []
        first_argument = node.args[0]
        if function in _MODULE_LOOKUPS:
            return self.strings_of(first_argument)
        owners = self.dotted_names_of(first_argument)
        if function == "vars":
            return [f"{owner}.__dict__" for owner in owners]
        if function == "getattr" and len(node.args) > 1:
            names = self.strings_of(node.args[1])
            return [f"{owner}.{name}" for owner in owners for name in names]
        return []

    def _dotted_names_of_item(self, node: ast.Subscript) -> list[str]:
        """Return the dotted names that `container[key]` may stand for.

        `sys.modules[name]` is a module, and `lib.__dict__[name]` an attribute of `lib`.
        """
        keys = self.strings_of(node.slice)
        container = node.value
        container_name = dotted(container)
        if container_name == "sys.modules":
            return keys
        names = []
        for owner in self.dotted_names_of(container):
            # An item of a namespace is an attribute: `lib.__dict__["f"]`, `vars(lib)["f"]`.
            namespace_owner = owner.removesuffix(".__dict__")
            is_namespace = namespace_owner != owner
            for key in keys:
                if is_namespace:
                    names.append(f"{namespace_owner}.{key}")
                else:
                    names.append(f"{owner}[{key!r}]")
        return names

    def strings_of(self, node: ast.expr) -> list[str]:
        """Return the strings that an expression may be; none where that is unknown.

        Of a tuple or a list, these are its elements.

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
        """Return the string that an f-string results in; none if one of its parts is unknown."""
        text = ""
        for part in node.values:
            strings = self.strings_of(part)
            if not strings:
                return []
            text += strings[0]  # of several that it may be, the first
        return [text]


def unbound_names_in(tree: ast.Module) -> set[str]:
    """Return the names that a module reads, and that neither it nor Python binds anywhere.

    Args:
        tree: The module.
    """
    read = set[str]()
    bound = set(dir(builtins))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names = read if isinstance(node.ctx, ast.Load) else bound
            names.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, (*DEFS, ast.ClassDef, ast.ExceptHandler)):
            bound.add(node.name or "")
    return read - bound


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names of a function's parameters.

    Args:
        function: The function.
    """
    nodes = ast.walk(function.args)
    return {node.arg for node in nodes if isinstance(node, ast.arg)}


def _without(
    meanings: Mapping[str, list[str]], names: set[str]
) -> dict[str, list[str]]:
    """Copy a mapping from names to what they may stand for, without some names."""
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
    """Set what a name stands for.

    Args:
        meanings: By name, what it may stand for; is changed.
        name: The name.
        new_meanings: What it is bound to.
        is_plain: Whether it is always bound to that, so that earlier meanings are dropped.
    """
    all_meanings: list[str] = []
    if not is_plain:
        all_meanings += meanings.get(name, [])
    all_meanings += new_meanings
    meanings[name] = list(dict.fromkeys(all_meanings))
