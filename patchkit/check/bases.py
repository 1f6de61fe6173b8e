"""What a class derives from, as its source says, and what it only seems to hold."""

from __future__ import annotations

from abc import ABC, ABCMeta
from typing import TYPE_CHECKING, NamedTuple

from patchkit.rows.target import Item, Target
from patchkit.upstream.resolving.classes import metaclass, mro
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.upstream.facts import Facts
    from patchkit.upstream.resolving.resolve import Resolver


class Bases(NamedTuple):
    """
    The classes that a class is or derives from.

    Args:
        inside: those in the same sources, as (module, qualname).
        outside: the dotted names of others, `vllm.a.B`.
        is_whole: whether they are all known.

    """

    inside: frozenset[tuple[str, str]]
    outside: tuple[str, ...]
    is_whole: bool


def bases_of(resolver: Resolver, target: Target) -> Bases:
    """Tell what a class is and derives from; what is no class derives from itself alone."""
    inside, outside, is_whole = set(), [], True
    for one in _classes(resolver, target):
        if one[1]:
            outside.append(one[1])
        elif one[0]:
            inside.add(one[0])
        else:
            is_whole = False
    return Bases(frozenset(inside), tuple(outside), is_whole)


def _classes(resolver: Resolver, target: Target) -> Iterator[tuple[tuple[str, str] | None, str]]:
    for variant in resolver.resolve(target).variants:
        for one in mro(resolver.lookup, variant) if variant.classes else (variant,):
            if one.kind is Kind.OUTSIDE and one.dotted:
                yield None, one.dotted
            else:
                yield ((one.module, one.qualname) if one.classes else None), ""


def is_beside(resolver: Resolver, place: Target, facts: Facts) -> bool:
    """Whether a class has a name only as every class has it, or from its metaclass."""
    if len(place.steps) < 2 or isinstance(place.steps[-1], Item) or not facts.is_sure:
        return False
    outer, _, name = place.qualname.rpartition(".")
    owner = facts.qualname.rpartition(".")[0]
    if facts.kind == Kind.OUTSIDE:
        if name == "__new__" or name in vars(ABC):
            return False
        is_objects = facts.module == "builtins" and owner in ("object", "type")
        return is_objects or (facts.module == "abc" and hasattr(ABCMeta, name))
    if facts.kind == Kind.PROPERTY:  # it takes what is put on the class
        return False
    lookup = resolver.lookup
    classes = [one for one in resolver.resolve(Target(place.module, outer)).variants if one.classes]
    metas = [meta for one in classes if (meta := metaclass(lookup, one)) and meta.classes]
    makers = {(one.module, one.qualname) for meta in metas for one in mro(lookup, meta)}
    return (facts.module, owner) in makers
