"""What runs when a module is imported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.upstream.resolving.module_tree import ModuleTree

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """List the statements that run at import, but those in the bodies of classes."""
    for one in body:
        if isinstance(one, SCOPES):
            continue
        yield one
        for field in ("body", "orelse", "finalbody"):
            yield from statements(getattr(one, field, ()))
        for part in (*getattr(one, "handlers", ()), *getattr(one, "cases", ())):
            yield from statements(part.body)


def expressions(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk the expressions of a statement itself, not of statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from ast.walk(child)


def called_at_import(tree: ModuleTree) -> frozenset[str]:
    """Name the functions of a module that run when it is imported, with those that they call."""
    found: frozenset[str] = tree.by_file("called", lambda: frozenset(_called(tree)))
    return found


def _called(tree: ModuleTree) -> set[str]:
    functions = {one.name: one for one in tree.body if isinstance(one, SCOPES)}
    runs = [node for one in statements(tree.body) for node in expressions(one)]
    marks = [one for each in functions.values() for one in each.decorator_list]
    found: set[str] = set()
    waiting = _calls([*runs, *(node for one in marks for node in ast.walk(one))])
    waiting |= {one.id for one in marks if isinstance(one, ast.Name)}
    while waiting:
        name = waiting.pop()
        found.add(name)
        if name in functions:
            waiting |= _calls(ast.walk(functions[name])) - found
    return found


def _calls(nodes: Iterable[ast.AST]) -> set[str]:
    called = (one.func for one in nodes if isinstance(one, ast.Call))
    return {one.id for one in called if isinstance(one, ast.Name)}
