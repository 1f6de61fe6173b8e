"""Finds the functions of a module that run as it is imported."""

import ast
from collections import deque
from collections.abc import Iterator

from patchkit.analysis.upstream.resolving.syntax import SCOPES, dotted


def called_by_statements(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names that the statements of a module call, one call a statement.

    Args:
        tree: The module.
    """
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield dotted(node.value.func)


def called_at_import(tree: ast.Module) -> set[str]:
    """Return the functions that run as a module is imported, with those that they call.

    Args:
        tree: The module.
    """
    functions: dict[str, ast.stmt] = {}
    unread = deque[ast.AST]()
    for statement in tree.body:
        if isinstance(statement, SCOPES):
            functions[statement.name] = statement
        else:
            unread.append(statement)
    for function in functions.values():
        unread.extend(getattr(function, "decorator_list", ()))
    called: set[str] = set()
    while unread:
        names = set(_called_names(unread.popleft()))
        for name in names - called:
            if name in functions:
                unread.append(functions[name])
        called |= names
    return called


def _called_names(node: ast.AST) -> Iterator[str]:
    """List the plain names that code calls; a name alone is a decorator, which is called, too."""
    if isinstance(node, ast.Name):
        yield node.id
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            yield call.func.id
