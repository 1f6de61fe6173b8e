"""What a class only seems to hold: what every class has, and what its metaclass has."""

from __future__ import annotations

from abc import ABC, ABCMeta
from typing import TYPE_CHECKING

from patchkit.rows.target import Item, Target
from patchkit.upstream.resolving.ancestry import metaclass, mro
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from patchkit.upstream.facts import Facts
    from patchkit.upstream.resolving.resolve import Resolver


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
    lookup = resolver.lookup
    classes = [one for one in resolver.resolve(Target(place.module, outer)).variants if one.classes]
    metas = [meta for one in classes if (meta := metaclass(lookup, one)) and meta.classes]
    makers = {(one.module, one.qualname) for meta in metas for one in mro(lookup, meta)}
    return (facts.module, owner) in makers
