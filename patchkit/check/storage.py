"""What a class only seems to hold: fields of instances, enum members, what its metaclass has."""

from __future__ import annotations

import ast
from abc import ABC, ABCMeta
from typing import TYPE_CHECKING

from patchkit.target import Item, Target
from patchkit.upstream.resolving.ancestry import metaclass, mro
from patchkit.upstream.resolving.conditions import Platform
from patchkit.upstream.resolving.fields import flavour
from patchkit.upstream.resolving.inheritance import made
from patchkit.upstream.resolving.lookup import Lookup
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from patchkit.upstream.facts import Facts
    from patchkit.upstream.resolving.resolve import Resolver
    from patchkit.upstream.resolving.values import Value

HOOKS = ("__new__", "__init__", "__post_init__")
_VALUES = (Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT)


def elsewhere(resolver: Resolver, place: Target) -> str:
    """Say where that is kept which a target names on a class; '' where it lies on the class."""
    if len(place.steps) < 2 or isinstance(place.steps[-1], Item):
        return ""
    outer, _, name = place.qualname.rpartition(".")
    lookup = Lookup(resolver.modules, Platform())
    values = resolver.resolve(place).variants
    owners = {
        Target(place.module, outer),  # and that which it is inherited from
        *(Target(one.module, one.qualname.rpartition(".")[0]) for one in values if one.tree),
    }
    classes = (one for owner in owners for one in resolver.resolve(owner).variants if one.classes)
    found = (_kept(lookup, cls, name, value) for cls in classes for value in values)
    return next((words for words in found if words), "")


def is_beside(resolver: Resolver, place: Target, facts: Facts) -> bool:
    """Whether a class has a name only as every class has it, or from its metaclass."""
    if len(place.steps) < 2 or isinstance(place.steps[-1], Item) or not facts.is_sure:
        return False
    outer, _, name = place.qualname.rpartition(".")
    owner = facts.qualname.rpartition(".")[0]
    if facts.kind == str(Kind.OUTSIDE):
        if name == "__new__" or name in vars(ABC):
            return False
        is_objects = facts.module == "builtins" and owner in ("object", "type")
        return is_objects or (facts.module == "abc" and hasattr(ABCMeta, name))
    if facts.kind == str(Kind.PROPERTY):  # it takes what is put on the class
        return False
    lookup = Lookup(resolver.modules, Platform())
    classes = [one for one in resolver.resolve(Target(place.module, outer)).variants if one.classes]
    metas = [meta for one in classes if (meta := metaclass(lookup, one)) and meta.classes]
    makers = {(one.module, one.qualname) for meta in metas for one in mro(lookup, meta)}
    return (facts.module, owner) in makers


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
