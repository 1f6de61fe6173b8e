"""Where that is kept which a class only seems to hold: fields of instances, enum members."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchkit.rows.target import Item, Target
from patchkit.upstream.resolving.class_body import made
from patchkit.upstream.resolving.fields import flavour
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.resolve import Resolution, Resolver
    from patchkit.upstream.resolving.values import Value

HOOKS = ("__new__", "__init__", "__post_init__")
_VALUES = (Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT)


def elsewhere(resolver: Resolver, found: Resolution) -> str:
    """Say where that is kept which a target names on a class; '' where it lies on the class."""
    place = found.target
    steps = place.steps if place.qualname else ()
    if len(steps) < 2 or isinstance(steps[-1], Item):
        return ""
    outer, _, name = place.qualname.rpartition(".")
    if name not in HOOKS and found.kind not in _VALUES:
        return ""
    owners = {
        Target(place.module, outer),  # and that which it is inherited from
        *(
            Target(one.module, one.qualname.rpartition(".")[0])
            for one in found.variants
            if one.tree
        ),
    }
    classes = (one for owner in owners for one in resolver.resolve(owner).variants if one.classes)
    words = (
        _kept(resolver.lookup, cls, name, value) for cls in classes for value in found.variants
    )
    return next(filter(None, words), "")


def _kept(lookup: Lookup, cls: Value, name: str, value: Value) -> str:
    kind = flavour(lookup, cls)
    if name in HOOKS:
        return "a hook that msgspec looks for only once" if kind == "struct" else ""
    if kind == "attrs" and value.kind is Kind.FIELD:
        return "a field of an attrs class"
    if value.kind not in _VALUES or not value.sure:
        return ""
    if kind == "enum" and value.instance_of is not None:
        return "a member of an enum"
    if value.kind is Kind.FIELD and not value.attribute:
        return "a field that leaves nothing on the class"
    return "a field that instances keep in a slot" if _is_slot(lookup, kind, cls, value) else ""


def _is_slot(lookup: Lookup, kind: str, cls: Value, value: Value) -> bool:
    if value.kind is not Kind.FIELD:
        return False
    slots = made(lookup, cls).options.get("slots")
    is_given = isinstance(slots, ast.Constant) and slots.value is True
    return kind in ("struct", "namedtuple") or value.reason == "a slot" or is_given
