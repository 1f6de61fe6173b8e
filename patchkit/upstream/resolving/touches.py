"""What a function of the release sets on what it is given: on a class, say, that it decorates."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import literals
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree
    from patchkit.upstream.resolving.values import Value

Def = ast.FunctionDef | ast.AsyncFunctionDef

DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEPTH = 3
"""How many calls are followed."""
_SETTERS = frozenset({"setattr", "delattr", "__setattr__"})


class _Code(NamedTuple):
    """
    What a function does, as far as that concerns the attributes of what it is given.

    Args:
        stored: attributes that it sets or deletes, of whatever.
        setters: calls of `setattr` and its kin.
        called: whatever else it calls, each as the dotted name before the last dot, and the rest.
        given: its first parameter, and those of the functions in it that it returns.

    """

    stored: frozenset[str]
    setters: tuple[ast.Call, ...]
    called: frozenset[tuple[str, str]]
    given: frozenset[str]


def touched_by(lookup: Lookup, function: Value, depth: int = 0) -> tuple[frozenset[str], bool]:
    """List the attributes that a function of the release sets; are there more?"""
    assert function.tree is not None
    key = ("touched", id(function.nodes[0]), depth)
    touched: tuple[frozenset[str], bool] = function.tree.noted(
        key, lambda: _touched(lookup, function, depth)
    )
    return touched


def bases_added_by(lookup: Lookup, function: Value, depth: int = 0) -> Iterator[Value]:
    """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`."""
    assert function.tree is not None
    for node in ast.walk(function.nodes[0]):
        if isinstance(node, ast.Assign) and dotted(node.targets[0]).endswith(".__bases__"):
            for base in getattr(getattr(node.value, "right", None), "elts", ()):
                yield from lookup.evaluate(base, Scope(function.tree))
    for owner, name in _code(function).called if depth < DEPTH else ():
        called = function_of(lookup, function.tree, name)
        if called is not None and not owner:
            yield from bases_added_by(lookup, replace(function, nodes=(called,)), depth + 1)


def function_of(lookup: Lookup, tree: ModuleTree, name: str) -> Def | None:
    """Find the `def` that a name of a module is bound to last."""
    bindings = [case.binding for case in lookup.cases(tree, name) if case.binding]
    node = bindings[-1].node if bindings else None
    return node if isinstance(node, DEFS) else None


def _touched(lookup: Lookup, function: Value, depth: int) -> tuple[frozenset[str], bool]:
    code = _code(function)
    touched = [(code.stored, False)]
    touched += [_set_by(lookup, call, function.tree) for call in code.setters]
    for owner, name in code.called:
        called = _called(lookup, function, owner, name)
        if called is None:
            touched.append((frozenset(), owner in code.given and not name.startswith("__")))
        elif called is not function.nodes[0] and depth < DEPTH:
            touched.append(touched_by(lookup, replace(function, nodes=(called,)), depth + 1))
    return frozenset().union(*(names for names, _ in touched)), any(more for _, more in touched)


def _set_by(lookup: Lookup, call: ast.Call, tree: ModuleTree | None) -> tuple[frozenset[str], bool]:
    at = -2 if "." in dotted(call.func) else 1
    is_read = len(call.args) > 1 and tree is not None
    text = literals.text(lookup, call.args[at], tree) if is_read and tree else None
    return (frozenset(), True) if text is None else (frozenset([text]), False)


def _called(lookup: Lookup, function: Value, owner: str, name: str) -> Def | None:
    assert function.tree is not None
    if not owner:
        return function_of(lookup, function.tree, name)
    body = function.classes[-1].body if function.classes else ()
    return next((one for one in body if isinstance(one, DEFS) and one.name == name), None)


def _code(function: Value) -> _Code:
    assert function.tree is not None
    node = function.nodes[0]
    code: _Code = function.tree.by_file(("code", id(node)), lambda: _read(node))
    return code


def _read(function: ast.AST) -> _Code:
    nodes = list(ast.walk(function))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    parts = [(call, *dotted(call.func).rpartition(".")) for call in calls]
    returned = {dotted(node.value) for node in nodes if isinstance(node, ast.Return) and node.value}
    functions = [node for node in nodes if isinstance(node, DEFS)]
    return _Code(
        frozenset(
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del))
        ),
        tuple(call for call, _, _, name in parts if name in _SETTERS),
        frozenset((owner, name) for _, owner, _, name in parts if name not in _SETTERS),
        frozenset(
            node.args.args[0].arg
            for node in functions
            if node.args.args and (node is function or node.name in returned)
        ),
    )
