"""What a class derives from, what its body binds, and what decorators and hooks make of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchkit.upstream.resolving import decorators
from patchkit.upstream.resolving.bindings import UNBOUND, Cases
from patchkit.upstream.resolving.decorator_source import UNKNOWN
from patchkit.upstream.resolving.flow import Flow
from patchkit.upstream.resolving.touches import touched_by
from patchkit.upstream.resolving.values import Kind, Scope, Value, undecidable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.module_tree import ModuleTree


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


SPREAD = "**"
"""Among the options of a decorator: it was given more than is spelled out."""


@dataclass(frozen=True, eq=False)
class Made:
    """
    What decorators and the like do to a class.

    Args:
        flavour: '' or how its fields are read, see `fields`.
        options: of the decorator that makes it a dataclass.
        touched: names that are set on it, each with what sets it.
        opened: why it may have further names; '' where it has none.
        replaced: why something else may stand in its place; '' where nothing does.
        bases: classes that are added to its bases.

    """

    flavour: str
    options: dict[str, ast.expr]
    touched: dict[str, str]
    opened: str
    replaced: str
    bases: tuple[Value, ...] = ()


def own_binding(
    lookup: Lookup,
    tree: ModuleTree,
    classes: Sequence[ast.ClassDef],
    name: str,
    until: ast.stmt | None = None,
) -> Cases:
    """Tell what the body of a class binds a name to."""
    node = classes[-1]
    key = ("own", id(node), name)
    if until is None and key in tree.notes:
        return tree.notes[key]  # type: ignore[no-any-return]
    inside = until if until is not None and _within(until, node) else None
    flow = Flow(name, tree, lookup, inside, is_module=False)
    cases = flow.whole(node) or UNBOUND
    if until is None:
        tree.notes[key] = cases
    return cases


def made(lookup: Lookup, value: Value) -> Made:
    """Tell what decorators do to a class."""
    assert value.tree is not None
    key = ("made", id(value.classes[-1]))
    found: Made = value.tree.noted(key, lambda: _made(lookup, value))
    return found


def written(entry: Value, name: str) -> str:
    """Undo what Python does to private names: `_Class__name` is written `__name`."""
    mangled = f"_{entry.classes[-1].name.lstrip('_')}__"
    if name.startswith(mangled) and not name.endswith("__"):
        return name[len(mangled) - 2 :]
    return name


def _within(statement: ast.stmt, node: ast.ClassDef) -> bool:
    return node.lineno <= statement.lineno <= (node.end_lineno or 0) and statement is not node


def _made(lookup: Lookup, value: Value) -> Made:
    assert value.tree is not None
    node = value.classes[-1]
    scope = Scope(value.tree, value.classes[:-1], node)
    work = Made("", {}, {}, "", "")
    for decorator in node.decorator_list:
        effect = decorators.effect_of(lookup, decorator, scope)
        text = f"the decorator @{ast.unparse(decorator)}"
        touched = {**work.touched, **dict.fromkeys(effect.touched, text)}
        unknown = effect.what == UNKNOWN
        work = Made(
            effect.dataclass or work.flavour,
            effect.options or work.options,
            touched,
            f"{text} may set it" if effect.is_open or "__bases__" in touched else work.opened,
            f"nothing is known about {text}" if unknown else work.replaced,
            (*work.bases, *effect.bases),
        )
    return _with_hooks(lookup, value, work)


def _with_hooks(lookup: Lookup, value: Value, work: Made) -> Made:
    """Add what the bases' `__init_subclass__` set on a class."""
    touched, opened = dict(work.touched), work.opened
    for entry in mro(lookup, value)[1:]:
        body = entry.classes[-1].body if entry.classes else ()
        hooks = tuple(one for one in body if getattr(one, "name", "") == "__init_subclass__")
        if not hooks:
            continue
        hook = replace(entry, kind=Kind.CLASSMETHOD, nodes=hooks)
        names, is_open = touched_by(lookup, hook)
        text = f"{entry.qualname}.__init_subclass__"
        touched |= dict.fromkeys(names, text)
        opened = opened or (f"{text} may set it" if is_open else "")
    return replace(work, touched=touched, opened=opened)
