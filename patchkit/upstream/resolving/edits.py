"""What code at import, below a class, does to the class: sets names, or hands it to a function."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import decorators
from patchkit.upstream.resolving.at_import import SCOPES, expressions, statements
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
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
    for one, node in _below(entry):
        touched, is_open = _done(lookup, entry, one, node)
        text = f"line {one.lineno}"
        names.update(dict.fromkeys(touched, text))
        opened = opened or (f"{text} may set it on {entry.qualname}" if is_open else "")
    return Edits(names, opened)


def _below(entry: Value) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """Walk what runs at import below the outermost class, decorators included."""
    assert entry.tree is not None
    end = entry.classes[0].end_lineno or 0
    for one in statements(entry.tree.body):
        if (one.end_lineno or 0) > end:
            yield from ((one, node) for node in expressions(one))
    for one in entry.tree.body:
        if isinstance(one, SCOPES) and one.lineno > end:
            yield from ((one, node) for each in one.decorator_list for node in ast.walk(each))


def _done(
    lookup: Lookup, entry: Value, one: ast.stmt, node: ast.AST
) -> tuple[frozenset[str], bool]:
    nothing: frozenset[str] = frozenset()
    name = entry.qualname
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)):
        return (frozenset([node.attr]) if dotted(node.value) == name else nothing), False
    if isinstance(one, (ast.For, ast.AsyncFor)) and dotted(node) == name:
        return nothing, True
    if not isinstance(node, ast.Call):
        return nothing, False
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    called = dotted(node.func)
    if not any(dotted(each) == name for each in given):
        if called.rpartition(".")[0] != name:
            return nothing, False
    elif called in _SETTERS and dotted(given[0]) == name and len(given) > 1:
        key = given[1].value if isinstance(given[1], ast.Constant) else None
        return (frozenset([key]), False) if isinstance(key, str) else (nothing, True)
    return _called(lookup, entry, one, node)


def _called(
    lookup: Lookup, entry: Value, one: ast.stmt, call: ast.Call
) -> tuple[frozenset[str], bool]:
    """Tell what a function sets on a class that it is given, or that it is a method of."""
    assert entry.tree is not None
    touched: frozenset[str] = frozenset()
    is_open = False
    for value in lookup.evaluate(call.func, Scope(entry.tree, (), one)):
        node = value.nodes[0] if value.nodes else None
        if value.dotted:
            is_open |= value.dotted.partition(".")[0] not in _HARMLESS
        elif isinstance(node, ast.FunctionDef) and value.kind is not Kind.METHOD:
            names, opened = decorators.touched_by(lookup, value)
            touched, is_open = touched | names, is_open or opened
        else:
            is_open |= not value.classes
    return touched, is_open
