"""What a module's source says of where its names are from: imports, other names, attributes."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class NameSource(NamedTuple):
    """What a name was bound to: attributes, each of the one before."""

    names: tuple[str, ...]
    module: str | None = None  # whose attribute the first is; None: it is a name of the same code
    level: int = 0  # of the import


class Constant(NamedTuple):
    """What stands in the code itself, or is made there: a text, a function, a new list."""

    constant: Any = None


Value = NameSource | Constant | None
"""None: what a call returned, an item was, and whatever else the code does not tell."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.ClassDef)
_NAMED = (*_SCOPES, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_MAKES = (ast.List, ast.Dict, ast.Set, ast.Lambda)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_BY_TEXT = frozenset(("globals", "locals", "vars", "setattr", "exec", "__dict__", "__setattr__"))
"""What binds names that are made up as the program runs."""


class Bindings:
    """The bindings that a module's or a class's own code makes; of others nothing is known."""

    def __init__(self, scope: ast.AST) -> None:
        self._scope = scope
        self._names: dict[str, set[Value]] = {}
        self.stars: list[NameSource] = []
        nodes = list(_own_nodes(scope))
        values = {target: value for node in nodes for target, value in _assigned(node)}
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(getattr(node, "ctx", None), ast.Store):
                self._bind(_dotted(node), _value(values.get(node)))
            elif isinstance(node, FUNCTIONS) and not node.decorator_list:
                self._bind(node.name, Constant())
            elif isinstance(node, _NAMED) and node.name is not None:
                self._bind(node.name, None)
        for name in _declared_global(scope):
            self._bind(name, None)

    def own(self, name: str) -> set[Value]:
        """Everything that this code binds a name to, or an attribute of one (`A.name`)."""
        return self._names.get(name, set())

    def may_set(self, name: str) -> bool:
        """Whether a name may be bound by what `of` does not see: `setattr`, `cls.name = …`."""
        own = set(_own_nodes(self._scope))
        for node in ast.walk(self._scope):
            if isinstance(node, ast.Attribute):
                is_set = isinstance(node.ctx, ast.Store) and node not in own
                if is_set and node.attr == name and _dotted(node) != f"self.{name}":
                    return True
            if (getattr(node, "id", None) or getattr(node, "attr", None)) in _BY_TEXT:
                return True
        return False

    def inner(self, path: Iterable[str]) -> "list[Bindings]":
        """Find the bodies of the class with this path; none of one that a function makes."""
        bodies: list[ast.AST] = [self._scope]
        for part in path:
            inside = [node for body in bodies for node in _statements(body)]
            bodies = [
                node for node in inside if isinstance(node, ast.ClassDef) and node.name == part
            ]
        return [Bindings(body) for body in bodies]

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            top, *rest = alias.name.split(".")
            if isinstance(node, ast.Import):
                source = NameSource(tuple(rest) if alias.asname else (), top)
            else:
                source = NameSource((alias.name,), node.module or "", node.level)
            if alias.name == "*":
                self.stars.append(source._replace(names=()))
            else:
                self._bind(alias.asname or top, source)

    def _bind(self, name: str, value: Value) -> None:
        if name:
            self._names.setdefault(name, set()).add(value)


def _value(node: ast.AST | None) -> Value:
    if isinstance(node, ast.Name):
        return NameSource((node.id,))
    if isinstance(node, ast.Attribute):
        if isinstance(owner := _value(node.value), NameSource):
            return owner._replace(names=(*owner.names, node.attr))
        return None
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    return Constant() if isinstance(node, _MAKES) else None


def _declared_global(module: ast.AST) -> Iterator[str]:
    """Find the names of a module that its functions, and the bodies of its classes, may bind."""
    for scope in all_scopes(module) if isinstance(module, ast.Module) else ():
        for node in _statements(scope):
            if isinstance(node, ast.Global):
                yield from node.names


def all_scopes(scope: Any) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """Find every function and class in a scope, at any depth."""
    for node in _statements(scope):
        if isinstance(node, _SCOPES):
            yield node
            yield from all_scopes(node)


def _statements(scope: Any) -> Iterator[ast.AST]:
    waiting = [scope]
    while waiting:
        node = waiting.pop()
        blocks: tuple[str, ...] = _BLOCKS
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant):
            blocks = ("body",) if node.test.value else ("orelse",)  # as Python compiles `if 0:`
        for part in (part for block in blocks for part in getattr(node, block, ())):
            yield part
            if not isinstance(part, _SCOPES):
                waiting.append(part)


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    for statement in _statements(scope):
        yield statement
        for child in ast.iter_child_nodes(statement):
            if not isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _walk(child)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.comprehension):
            waiting += (node.iter, *node.ifs)
        else:
            waiting += ast.iter_child_nodes(node.args if isinstance(node, ast.Lambda) else node)


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Tell what is bound to a value as it is; not what that is taken apart into."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.target, node.value


def _dotted(node: Any) -> str:
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner else ""
