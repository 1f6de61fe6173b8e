"""What code at import, below a class, does to the class: sets names, or hands it to a function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.at_import import expressions, statements
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.touches import touched_by
from patchkit.upstream.resolving.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.resolving.lookup import Lookup

_HARMLESS = frozenset({"builtins", "typing", "typing_extensions", "logging"})
"""Modules whose functions set nothing on a class that they are given."""
_SETTERS = frozenset({"setattr", "delattr"})


class Edits(NamedTuple):
    """
    What may have been done to a class.

    Args:
        names: that are set or deleted, each with how.
        opened: how others may be; '' where they are not.

    """

    names: dict[str, str]
    opened: str


_ASKED = Edits({}, "")


def edits_of(lookup: Lookup, entry: Value) -> Edits:
    """List what may be done to a class by code of its module below it."""
    assert entry.tree is not None
    key, notes = ("edits", id(entry.classes[-1])), entry.tree.notes
    if key not in notes:
        notes[key] = _ASKED  # for those who ask while it is worked out
        notes[key] = _edits(lookup, entry)
    found: Edits = notes[key]
    lookup.circles += found is _ASKED
    return found


def _edits(lookup: Lookup, entry: Value) -> Edits:
    assert entry.tree is not None
    names: dict[str, str] = {}
    opened = ""
    if entry.tree.source.count(entry.classes[-1].name.encode()) < 2:
        return Edits(names, opened)
    end = entry.classes[0].end_lineno or 0
    below = (one for one in statements(entry.tree.body) if (one.end_lineno or 0) > end)
    for statement, node in ((one, node) for one in below for node in expressions(one)):
        for name in _set_by(lookup, entry, statement, node):
            text = f"line {statement.lineno}"
            if name is None:
                opened = opened or f"{text} may set it on {entry.qualname}"
            else:
                names[name] = text
    return Edits(names, opened)


def _set_by(
    lookup: Lookup, entry: Value, statement: ast.stmt, node: ast.AST
) -> Iterator[str | None]:
    """Name what an expression sets on a class; None for what cannot be told."""
    owner = entry.qualname
    if isinstance(statement, (ast.For, ast.AsyncFor)) and dotted(node) == owner:
        yield None
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        if dotted(node.value) == owner:
            yield node.attr
    elif isinstance(node, ast.Call):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        called, is_given = dotted(node.func), any(dotted(one) == owner for one in given)
        if is_given and called in _SETTERS and len(given) > 1:
            key = given[1].value if isinstance(given[1], ast.Constant) else None
            yield key if isinstance(key, str) else None
        elif is_given or called.rpartition(".")[0] == owner:
            yield from _set_in(lookup, entry, statement, node.func)


def _set_in(
    lookup: Lookup, entry: Value, statement: ast.stmt, function: ast.expr
) -> Iterator[str | None]:
    """Name what a function sets on a class that it is given, or that it is a method of."""
    assert entry.tree is not None
    for value in lookup.evaluate(function, Scope(entry.tree, (), statement)):
        node = value.nodes[0] if value.nodes else None
        is_open = not value.classes
        if value.dotted:
            is_open = value.dotted.partition(".")[0] not in _HARMLESS
        elif isinstance(node, ast.FunctionDef) and value.kind is not Kind.METHOD:
            names, is_open = touched_by(lookup, value)
            yield from names
        if is_open:
            yield None
