"""
Code of the release that a target runs and that stands elsewhere, at import bound to it by a call.

`x = lru_cache(f)` runs f, `x = make()` runs what `make` defines, `@x.register` adds to x, and
`C.run = f`, below a class, makes f a method. What a body calls by name is a helper, and no part.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    dotted,
    given_to,
    statements,
)
from patchkit.upstream.resolving.values import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Lookup, Value

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


def _nodes(lookup: Lookup, value: Value, depth: int) -> Iterator[Wrapped]:
    if value.scope is None or value.tree is None:
        return
    if isinstance(value.expression, ast.Call):
        yield from _given(lookup, value.expression, value.scope, depth)
    definition = value.nodes[0] if value.nodes else None
    if not isinstance(definition, SCOPES):
        return
    for statement in _additions(value.scope).get(definition.name, ()):
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
        for each in given_to(node):
            yield from _given(lookup, each, scope, depth)
    elif isinstance(node, (ast.Name, ast.Attribute)) and depth:
        for value in lookup.evaluate(node, scope):
            yield from _definition(value)
            yield from _nodes(lookup, value, depth - 1)


def _factory(lookup: Lookup, node: ast.expr, scope: Scope, depth: int) -> Iterator[Wrapped]:
    if isinstance(node, ast.Call):
        yield from _given(lookup, node, scope, depth)
        return
    for one in (one for value in lookup.evaluate(node, scope) for one in _definition(value)):
        inner = (part for part in ast.walk(one.node) if part is not one.node)
        if any(isinstance(part, (*DEFS, ast.Lambda)) for part in inner):
            yield one  # it makes functions


def _definition(value: Value) -> Iterator[Wrapped]:
    if value.tree is not None and value.nodes and isinstance(value.nodes[0], DEFS):
        yield from (Wrapped(node, value.tree) for node in value.nodes)


# --- statements below a definition that add to it


def _additions(scope: Scope) -> dict[str, list[ast.stmt]]:
    if scope.classes:
        return _by_name(scope.classes[-1].body)
    return scope.tree.by_file("additions", lambda: _by_name(scope.tree.tree.body))


def _by_name(body: Sequence[ast.stmt]) -> dict[str, list[ast.stmt]]:
    found: dict[str, list[ast.stmt]] = {}
    for statement in statements(body):
        for name in _added_to(statement):
            found.setdefault(name, []).append(statement)
    return found


def _added_to(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, DEFS):
        for one in statement.decorator_list:
            owner, _, method = dotted(one.func if isinstance(one, ast.Call) else one).partition(".")
            if method.startswith("register"):
                yield owner
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                yield target.value.id
    elif call := operator_call(statement):
        yield from (one.id for one in given_to(call) if isinstance(one, ast.Name))


def operator_call(node: ast.AST) -> ast.Call | None:
    """Return the call of a statement that makes an operator of a function; None for any other."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and dotted(call.func).endswith("custom_op"):
        return call
    return None
