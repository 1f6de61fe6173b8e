"""What runs when a module is imported."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk the expressions of a statement itself, not of statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, (ast.expr, ast.withitem)):
            yield from ast.walk(child)
