"""Reads in a module's source what its names are bound to: imports, other names, attributes."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class NameSource(NamedTuple):
    """What a name was bound to, by the names that lead there.

    Args:
        names: Attributes, each of the one before.
        module: The module whose attribute the first is; None for a name of the same code.
        level: How many dots the import has before the module.
    """

    names: tuple[str, ...]
    module: str | None = None
    level: int = 0


class Constant(NamedTuple):
    """What stands in the code itself, or is made there: a text, a function, a new list.

    Args:
        constant: The value, where the code states one.
    """

    constant: Any = None


Value = NameSource | Constant | None
"""None: what a call returned, an item was, and whatever else the code does not tell."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.ClassDef)
_NAMED = (*_SCOPES, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_MAKES = (ast.List, ast.Dict, ast.Set, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BY_TEXT = frozenset(
    ("globals", "locals", "vars", "setattr", "exec", "__dict__", "__setattr__")
)
"""What binds names that are made up as the program runs."""


class Bindings:
    """The bindings that a module's or a class's own code makes; of others nothing is known.

    Args:
        scope: The syntax tree of the module or class.
    """

    def __init__(self, scope: ast.AST) -> None:
        self._scope = scope
        self._names: dict[str, set[Value]] = {}
        self.stars: list[NameSource] = []
        nodes = list(_own_nodes(scope))
        assigned: dict[ast.AST, ast.AST] = {}
        for node in nodes:
            assigned.update(_assigned(node))
        for node in nodes:
            context = getattr(node, "ctx", None)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(context, ast.Store):
                value = _value(assigned.get(node))
                self._bind(_dotted(node), value)
            elif isinstance(node, FUNCTIONS) and not node.decorator_list:
                self._bind(node.name, Constant())
            elif isinstance(node, _NAMED) and node.name is not None:
                self._bind(node.name, None)
        if isinstance(scope, ast.Module):
            for name in _declared_global(scope):
                self._bind(name, None)

    def own(self, name: str) -> set[Value]:
        """Return all that this code binds `name` to, which may be an attribute's (`A.name`)."""
        return self._names.get(name, set())

    def may_set(self, name: str) -> bool:
        """Whether `name` may be bound by what `own` does not see: `setattr`, `cls.name = …`."""
        setting: list[ast.AST] = []
        for node in ast.walk(self._scope):
            mentioned = getattr(node, "id", None)
            if isinstance(node, ast.Attribute):
                mentioned = node.attr
                is_stored = isinstance(node.ctx, ast.Store)
                if is_stored and mentioned == name and _dotted(node) != f"self.{name}":
                    setting.append(node)
            if mentioned in _BY_TEXT:
                return True
        return bool(setting) and not set(setting).issubset(_own_nodes(self._scope))

    def inner(self, path: Iterable[str]) -> "list[Bindings]":
        """Return the bindings of each body of a class.

        Args:
            path: The names of the classes that lead to it, its own last.

        Returns:
            One for each class statement; none where a function makes the class.
        """
        bodies: list[ast.AST] = [self._scope]
        for name in path:
            inner_bodies: list[ast.AST] = []
            for body in bodies:
                inner_bodies += _classes_named(name, body)
            bodies = inner_bodies
        return [Bindings(body) for body in bodies]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            top, *submodules = alias.name.split(".")
            if isinstance(node, ast.ImportFrom):
                module = node.module or ""
                source = NameSource((alias.name,), module, node.level)
            elif alias.asname:
                source = NameSource(tuple(submodules), top)
            else:
                source = NameSource((), top)  # `import a.b` binds `a`
            if alias.name == "*":
                self.stars.append(source._replace(names=()))
            else:
                name = alias.asname or top
                self._bind(name, source)

    def _bind(self, name: str, value: Value) -> None:
        if name:
            values = self._names.setdefault(name, set())
            values.add(value)


def _value(node: ast.AST | None) -> Value:
    """Tell what an expression is, as far as its code says."""
    if isinstance(node, ast.Name):
        return NameSource((node.id,))
    if isinstance(node, ast.Attribute):
        owner = _value(node.value)
        if not isinstance(owner, NameSource):
            return None
        names = (*owner.names, node.attr)
        return owner._replace(names=names)
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    if isinstance(node, _MAKES):
        return Constant()
    return None


def _declared_global(module: ast.Module) -> Iterator[str]:
    """Find the names of a module that its functions, and the bodies of its classes, may bind."""
    for scope in all_scopes(module):
        for node in _statements(scope):
            if isinstance(node, ast.Global):
                yield from node.names


def all_scopes(
    scope: Any,
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Yield every function and class in the code of `scope`, at any depth."""
    for node in _statements(scope):
        if isinstance(node, _SCOPES):
            yield node
            yield from all_scopes(node)


def _classes_named(name: str, body: ast.AST) -> list[ast.ClassDef]:
    statements = _statements(body)
    return [
        node
        for node in statements
        if isinstance(node, ast.ClassDef) and node.name == name
    ]


def _statements(scope: Any) -> Iterator[ast.AST]:
    """Yield the statements of a scope, in blocks too; not those of functions and classes in it."""
    pending = [scope]
    while pending:
        node = pending.pop()
        for block in _live_blocks(node):
            statements = getattr(node, block, ())
            for statement in statements:
                yield statement
                if not isinstance(statement, _SCOPES):
                    pending.append(statement)


def _live_blocks(node: ast.AST) -> tuple[str, ...]:
    """Name the blocks of a statement that Python compiles: one of two in `if 0:`."""
    if not isinstance(node, ast.If):
        return _BLOCKS
    if not isinstance(node.test, ast.Constant):
        return _BLOCKS
    if node.test.value:
        return ("body",)
    return ("orelse",)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a scope, and the expressions that run where they stand."""
    for statement in _statements(scope):
        yield statement
        children = ast.iter_child_nodes(statement)
        for child in children:
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _walk(child)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression, without those that have a scope of their own."""
    pending = [node]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.comprehension):
            pending.append(node.iter)
            pending += node.ifs
        elif isinstance(node, ast.Lambda):
            pending += ast.iter_child_nodes(node.args)
        else:
            pending += ast.iter_child_nodes(node)


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield what is bound to a value as it is, and the value; not what is taken apart."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield target, node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def _dotted(node: Any) -> str:
    """Write a name, or an attribute of one; '' for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        if owner:
            return f"{owner}.{node.attr}"
    return ""
