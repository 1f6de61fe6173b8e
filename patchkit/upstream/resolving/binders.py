"""Which statements of a scope have to do with a name, so that the others need not be followed."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.at_import import expressions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.module_tree import ModuleTree

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
_ANY = "*"
"""Stands for every name: a star import, and what may end the import."""


class Binders:
    """
    The statements of one scope, by the names that they may bind, shape or delete.

    Args:
        tree: the module of the scope.
        body: its statements.

    """

    def __init__(self, tree: ModuleTree, body: Sequence[ast.stmt]) -> None:
        self._body = body
        self._places: dict[str, list[int]] = {}
        for at, statement in enumerate(body):
            for name in set(_names(statement, tree)):
                self._places.setdefault(name, []).append(at)

    @classmethod
    def of_scope(cls, tree: ModuleTree, scope: ast.Module | ast.ClassDef) -> Binders:
        """Tell those of a module or class; they are kept with its file."""
        binders: Binders = tree.by_file(("binders", id(scope)), lambda: cls(tree, scope.body))
        return binders

    def only(self, name: str) -> ast.stmt | None:
        """Return the statement that alone has to do with a name; None where others have too."""
        places = self._places.get(name, ())
        return self._body[places[0]] if len(places) == 1 else None

    def of(self, name: str) -> list[ast.stmt]:
        """List those that have to do with a name, in order."""
        places = {*self._places.get(name, ()), *self._places.get(_ANY, ())}
        return [self._body[at] for at in sorted(places)]


def _names(statement: ast.AST, tree: ModuleTree) -> Iterator[str]:
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from _imported(statement, tree)
    elif isinstance(statement, ast.Raise):
        yield _ANY
    else:
        yield from _written(statement)
        if tree.by_file("walrus", lambda: b":=" in tree.source):
            yield from walrus_names(statement)
        for field in _BLOCKS:
            for inner in getattr(statement, field, ()):
                yield from _names(inner, tree)


def _imported(statement: ast.Import | ast.ImportFrom, tree: ModuleTree) -> Iterator[str]:
    """Name what an import binds; in a package, submodules that it sets on that as well."""
    paths = [one.name for one in statement.names]
    if isinstance(statement, ast.ImportFrom):
        module = tree.absolute(statement.module, statement.level) or ""
        paths = [module, *(f"{module}.{one}" for one in paths)]
    for alias in statement.names:
        yield alias.asname or alias.name.split(".")[0]
    own = f"{tree.name}."
    if tree.is_package:
        yield from (one[len(own) :].split(".")[0] for one in paths if one.startswith(own))


def _written(statement: ast.AST) -> Iterator[str]:
    """Name what the targets, patterns and calls of a statement itself have to do with."""
    if isinstance(statement, ast.ExceptHandler):
        yield statement.name or ""
    elif isinstance(statement, ast.Expr):
        yield from _within(statement.value.func if isinstance(statement.value, ast.Call) else None)
    else:
        for field in ("target", "name", "pattern"):
            yield from _within(getattr(statement, field, None))
        for node in getattr(statement, "targets", ()):
            yield from _within(node)
        for item in getattr(statement, "items", ()):
            yield from _within(item.optional_vars)


def _within(target: ast.AST | None) -> Iterator[str]:
    for node in ast.walk(target) if target else ():
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
            yield node.name or ""
        elif isinstance(node, ast.MatchMapping):
            yield node.rest or ""


def walrus_names(statement: ast.AST) -> Iterator[str]:
    """Name what `:=` binds in the expressions of a statement, definitions aside."""
    if not isinstance(statement, _DEFINITIONS):
        for node in expressions(statement):
            if isinstance(node, ast.NamedExpr):
                yield node.target.id
