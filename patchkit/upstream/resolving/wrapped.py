"""
Code of the release that a target runs and that stands elsewhere, at import bound to it by a call.

`x = lru_cache(f)` runs f, `x = make()` runs what `make` defines, `@x.register` adds to x, and
`C.run = f`, below a class, makes f a method. What a body calls by name is a helper, and no part.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.at_import import statements
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Value

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEPTH = 4


class Wrapped(NamedTuple):
    """A definition or a statement, and the module that it stands in."""

    node: ast.AST
    tree: ModuleTree


def wrapped_by(lookup: Lookup, value: Value) -> list[Wrapped]:
    """List what defines the code that a value runs, beside its own definition."""
    found = {id(one.node): one for one in _nodes(lookup, value, _DEPTH)}
    own = set(map(id, value.nodes))
    return [one for key, one in found.items() if key not in own]


def operator_call(node: ast.AST) -> ast.Call | None:
    """Return the call of a statement that makes an operator of a function; None for any other."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and dotted(call.func).endswith("custom_op"):
        return call
    return None


def _nodes(lookup: Lookup, value: Value, depth: int) -> Iterator[Wrapped]:
    if value.scope is None or value.tree is None:
        return
    if isinstance(value.expression, ast.Call):
        yield from _given(lookup, value.expression, value.scope, depth)
    definition = value.nodes[0] if value.nodes else None
    if isinstance(definition, (*_DEFS, ast.ClassDef)):
        for statement in _additions(value.scope, definition):
            if isinstance(statement, ast.Assign) is not isinstance(definition, ast.ClassDef):
                continue
            yield Wrapped(statement, value.tree)
            if isinstance(statement, ast.Assign):
                inside = Scope(value.tree, (), statement)
                yield from _given(lookup, statement.value, inside, depth)


def _given(lookup: Lookup, node: ast.expr, scope: Scope, depth: int) -> Iterator[Wrapped]:
    """Follow what a call is given, and what it calls where that makes functions."""
    if isinstance(node, ast.Call):
        yield from _factory(lookup, node.func, scope, depth)
        for each in (*node.args, *(one.value for one in node.keywords)):
            yield from _given(lookup, each, scope, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and depth:
        for value in lookup.evaluate(node, scope):
            yield from _definition(value)
            yield from _nodes(lookup, value, depth - 1)


def _factory(lookup: Lookup, node: ast.expr, scope: Scope, depth: int) -> Iterator[Wrapped]:
    if isinstance(node, ast.Call):
        yield from _given(lookup, node, scope, depth)
        return
    for value in lookup.evaluate(node, scope):
        yield from (one for one in _definition(value) if _makes_functions(one.node))


def _definition(value: Value) -> Iterator[Wrapped]:
    if value.tree is not None and value.nodes and isinstance(value.nodes[0], _DEFS):
        yield from (Wrapped(node, value.tree) for node in value.nodes)


def _makes_functions(function: ast.AST) -> bool:
    inner = (node for node in ast.walk(function) if node is not function)
    return any(isinstance(node, (*_DEFS, ast.Lambda)) for node in inner)


# --- statements below a definition that add to it


def _additions(
    scope: Scope, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> Sequence[ast.stmt]:
    if scope.classes:
        return _by_name(scope.classes[-1].body).get(node.name, ())
    found = scope.tree.by_file("additions", lambda: _by_name(scope.tree.body))
    return found.get(node.name, ())  # type: ignore[no-any-return]


def _by_name(body: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements(body):
        for name in _added_to(statement):
            found.setdefault(name, []).append(statement)
    return found


def _added_to(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, _DEFS):
        for one in statement.decorator_list:
            owner, _, method = dotted(one.func if isinstance(one, ast.Call) else one).partition(".")
            if method.startswith("register"):
                yield owner
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield target.value.id
    elif call := operator_call(statement):
        given = (*call.args, *(one.value for one in call.keywords))
        yield from (one.id for one in given if isinstance(one, ast.Name))
