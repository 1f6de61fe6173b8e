"""What statements of a module set on a class of it, below the class."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import AS_METHOD, Kind, Value, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.resolving.lookup import Lookup, Values


def set_later(lookup: Lookup, entry: Value, name: str) -> Values:
    """Tell what statements of the module below a class set on it."""
    assert entry.tree is not None
    found: list[Value] = []
    where = f"{entry.qualname}.{name}"
    for one, value in _setting(entry, name):
        base = Value("present", Kind.ASSIGNMENT, entry.module, where, entry.tree, (one,))
        if value is not None:
            given = lookup.evaluate(value, Scope(entry.tree, (), one))
            found += [_as_set(base, each, value) for each in given]
        else:
            found.append(undecidable(f"{where} is deleted or set at line {one.lineno}"))
    return tuple(found)


def _as_set(base: Value, found: Value, expression: ast.expr) -> Value:
    if found.state == "present" and found.qualname:
        kind = AS_METHOD.get(found.kind, found.kind) if found.kind else None
        return replace(found, kind=kind).via(f"{base.module}:{base.qualname}")
    kind = found.kind if found.state == "present" and found.kind is not Kind.MODULE else base.kind
    return replace(
        base, kind=kind, signature=found.signature, expression=expression, sure=found.sure
    )


def _setting(entry: Value, name: str) -> Iterator[tuple[ast.stmt, ast.expr | None]]:
    assert entry.tree is not None
    if entry.tree.source.count(f"{entry.qualname}.{name}".encode()) == 0 and (
        b"setattr(" not in entry.tree.source
    ):
        return
    for one in _below(entry):
        for target in getattr(one, "targets", ()):
            if dotted(target) == f"{entry.qualname}.{name}":
                yield one, getattr(one, "value", None)
        call = one.value if isinstance(one, ast.Expr) else None
        if isinstance(call, ast.Call) and dotted(call.func) == "setattr" and len(call.args) == 3:
            owner, given, value = call.args
            named = isinstance(given, ast.Constant) and given.value == name
            if named and dotted(owner) == entry.qualname:
                yield one, value


def _below(entry: Value) -> Iterator[ast.stmt]:
    assert entry.tree is not None
    end = entry.classes[0].end_lineno or 0
    stack = [one for one in reversed(entry.tree.body) if (one.end_lineno or 0) > end]
    while stack:
        one = stack.pop()
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if one.lineno > end:
            yield one
        for field in ("body", "orelse", "finalbody"):
            stack += getattr(one, field, ())


def calls_below(entry: Value) -> Iterator[ast.AST]:
    """Walk what stands below a class, where something may set attributes by name."""
    if entry.tree is None or b"setattr(" not in entry.tree.source:
        return
    for one in _below(entry):
        yield from ast.walk(one)
