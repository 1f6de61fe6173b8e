"""What a class derives from, in the order of C3, and what else than `type` made it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from patchkit.upstream.resolving.lookup import Lookup

_OBJECT = Value("present", Kind.OUTSIDE, dotted="builtins.object")
_ITSELF = "it derives from itself"
_KNOWN_METACLASSES = frozenset({"builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType"})

_MAKERS = frozenset({"__new__", "__init__", "__prepare__"})


def mro(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    """List a class and its bases as Python does; what is not known of them stands in its place."""
    assert value.tree is not None
    key = ("mro", id(value.classes[-1]))
    notes = value.tree.notes
    if key not in notes:
        notes[key] = (value, undecidable(_ITSELF))
        notes[key] = _linear(lookup, value)
    found: tuple[Value, ...] = notes[key]
    lookup.circles += found[1].reason == _ITSELF
    return found


def is_bare(lookup: Lookup, value: Value) -> bool:
    """Whether nothing outside the release gives a class more than `object` does."""
    bare = {"builtins.object", "abc.ABC", "typing.Generic"}
    return all(one.classes or one.dotted in bare for one in mro(lookup, value))


def metaclass(lookup: Lookup, value: Value) -> Value | None:
    """Find what else than `type` or one of its well-known kin makes a class."""
    for entry in mro(lookup, value):
        if not entry.classes:
            continue
        assert entry.tree is not None
        for keyword in entry.classes[-1].keywords:
            if keyword.arg == "metaclass":
                scope = Scope(entry.tree, entry.classes[:-1], entry.classes[-1])
                found = lookup.evaluate(keyword.value, scope)
                if len(found) != 1:
                    return undecidable(f"the metaclass {ast.unparse(keyword.value)}")
                if found[0].dotted not in _KNOWN_METACLASSES:
                    return found[0]
    return None


def gives_more(lookup: Lookup, meta: Value) -> bool:
    """Whether a metaclass may give a class names that no statement of the class binds."""
    return any(_methods(lookup, meta, {*_MAKERS, "__getattr__", "__getattribute__"}))


def remade_by(lookup: Lookup, value: Value, name: str, *, is_def: bool) -> str:
    """Name the metaclass that may replace what a class binds, or take it away; '' for none."""
    meta = metaclass(lookup, value)
    if meta is None or not meta.classes:
        return ""
    if any(one.dotted.startswith("enum.") for one in mro(lookup, meta)):
        return ""
    makers = _methods(lookup, meta, _MAKERS)
    is_touched = any(not is_def or _spells(one, name) for one in makers)
    return meta.qualname if is_touched else ""


def _methods(lookup: Lookup, meta: Value, names: Set[str]) -> Iterator[ast.stmt]:
    bodies = (entry.classes[-1].body for entry in mro(lookup, meta) if entry.classes)
    return (one for body in bodies for one in body if getattr(one, "name", "") in names)


def _spells(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Constant) and one.value == name for one in ast.walk(node))


def _linear(lookup: Lookup, value: Value) -> tuple[Value, ...]:
    bases = [_base(lookup, one, value) for one in value.classes[-1].bases]
    orders = [list(mro(lookup, one)) if one.classes else [one] for one in bases]
    orders = [[one for one in order if one is not _OBJECT] for order in orders]
    merged = _merge([*orders, list(bases)])
    if merged is None:
        return (value, undecidable("its bases have no consistent order"), _OBJECT)
    return (value, *merged, _OBJECT)


def _base(lookup: Lookup, node: ast.expr, value: Value) -> Value:
    assert value.tree is not None
    scope = Scope(value.tree, value.classes[:-1], value.classes[-1])
    text = ast.unparse(node)
    if isinstance(node, ast.Starred):
        return undecidable(f"the base {text}")
    found = {_key(one): one for one in lookup.evaluate(node, scope) if not _is_none(one)}
    if len(found) != 1:
        return undecidable(f"the base {text}, which is one of several,")
    base = next(iter(found.values()))
    if base.kind is Kind.CLASS and not base.sure:
        return undecidable(f"the base {text}, which may be another,")
    if base.classes or base.kind in (Kind.OUTSIDE, Kind.CLASS):
        return base
    return undecidable(f"the base {text}, which cannot be resolved,")


def _merge(orders: list[list[Value]]) -> list[Value] | None:
    """Linearise as C3 does; None where there is no order."""
    merged: list[Value] = []
    orders = [order for order in orders if order]
    while orders:
        heads = (order[0] for order in orders)
        head = next((one for one in heads if not _in_tail(one, orders)), None)
        if head is None:
            return None
        merged.append(head)
        key = _key(head)
        orders = [[one for one in order if _key(one) != key] for order in orders]
        orders = [order for order in orders if order]
    return merged


def _in_tail(value: Value, orders: list[list[Value]]) -> bool:
    key = _key(value)
    return any(key == _key(one) for order in orders for one in order[1:])


def _key(value: Value) -> object:
    if value.classes:
        return id(value.classes[-1])
    return value.dotted if value.kind is Kind.OUTSIDE else id(value)


def _is_none(value: Value) -> bool:
    return isinstance(value.expression, ast.Constant) and value.expression.value is None
