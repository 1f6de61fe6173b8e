"""What a module's source says of where its names are from: imports, other names, attributes."""

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
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
    """The bindings that a module's, a class's or a function's own code makes.

    Of a function's own names nothing is known, and in a function in another of no name at all.
    """

    def __init__(self, scope: ast.AST, *, is_local: bool = False) -> None:
        self._scope = scope
        self._is_local = is_local
        self._names: dict[str, set[Value]] = {}
        self.stars: list[NameSource] = []
        nodes = list(_own_nodes(scope))
        values = {target: value for node in nodes for target, value in _assigned(node)}
        for node in nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(getattr(node, "ctx", None), ast.Store):
                self._bind(_dotted(node), self._values(values.get(node)))
            elif isinstance(node, FUNCTIONS) and not node.decorator_list:
                self._bind(node.name, {Constant()})
            elif isinstance(node, _NAMED) and node.name is not None:
                self._bind(node.name, {None})
        if isinstance(scope, FUNCTIONS):
            self._forget_locals(scope)

    def own(self, name: str) -> set[Value]:
        """Everything that this code binds a name to, or an attribute of one (`A.name`)."""
        return self._names.get(name, set())

    def of(self, name: str) -> set[Value]:
        """Everything that a name is bound to, also by functions that declare it `global`."""
        binding = [scope for scope, names in self._globals if name in names]
        functions = [scope for scope in all_scopes(self._scope) if isinstance(scope, FUNCTIONS)]
        nested = {inner for outer in functions if binding for inner in all_scopes(outer)}
        inner = (Bindings(scope, is_local=scope in nested).own(name) for scope in binding)
        return self.own(name).union(*inner)

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
        """Find the bodies of the class with this path."""
        bodies: list[Any] = [self._scope]
        is_local = False
        for part in path:
            inside = [node for body in bodies for node in _statements(body)]
            bodies = [node for node in inside if isinstance(node, _SCOPES) and node.name == part]
            is_local = is_local or any(isinstance(body, FUNCTIONS) for body in bodies)
        return [Bindings(body, is_local=is_local) for body in bodies]

    @cached_property
    def _globals(self) -> list[tuple[ast.AST, list[str]]]:
        return [
            (scope, node.names)
            for scope in all_scopes(self._scope)
            for node in _statements(scope)
            if isinstance(node, ast.Global)
        ]

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
                self._bind(alias.asname or top, {source})

    def _bind(self, name: str, values: set[Value]) -> None:
        if name:
            self._names.setdefault(name, set()).update(values)

    def _forget_locals(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        declared = [node for node in _statements(function) if isinstance(node, ast.Global)]
        arguments = [node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)]
        own = {*arguments, *self._names}.difference(*(node.names for node in declared))
        for name, values in self._names.items():
            known = {None if _starts_in(value, own) else value for value in values}
            self._names[name] = known

    def _values(self, node: ast.AST | None) -> set[Value]:
        if isinstance(node, ast.Name):
            return {None if self._is_local else NameSource((node.id,))}
        if isinstance(node, ast.Attribute):
            owners = self._values(node.value)
            return {_attribute(owner, node.attr) for owner in owners}
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            either = node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse)
            return set().union(*map(self._values, either))
        if isinstance(node, ast.NamedExpr):
            return self._values(node.value)
        if isinstance(node, ast.Constant):
            return {Constant(node.value)}
        return {Constant() if isinstance(node, _MAKES) else None}


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


def _starts_in(value: Value, names: set[str]) -> bool:
    return isinstance(value, NameSource) and value.module is None and value.names[0] in names


def _attribute(owner: Value, name: str) -> Value:
    return owner._replace(names=(*owner.names, name)) if isinstance(owner, NameSource) else None


def _assigned(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield node.target, node.value


def _unpacked(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    yield target, value
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
        is_plain = not any(isinstance(part, ast.Starred) for part in (*target.elts, *value.elts))
        for pair in zip(target.elts, value.elts, strict=False) if is_plain else ():
            yield from _unpacked(*pair)


def _dotted(node: Any) -> str:
    if isinstance(node, ast.Name):
        return node.id
    owner = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner else ""
