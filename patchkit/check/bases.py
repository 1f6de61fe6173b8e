"""What a class derives from, as its source says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.ancestry import mro
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.rows.target import Target
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
