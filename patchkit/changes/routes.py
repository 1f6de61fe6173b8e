"""The way from a module to what a change works on, as it was when the change was made."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.owners import MISSING, namespace, peek
from patchkit.rows.target import Item, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import CodeType, FunctionType, ModuleType

    from patchkit.changes.sites import Site


class Route(NamedTuple):
    """
    What stood at each step.

    Args:
        target: where it leads.
        steps: owner, attribute or item, and what was found there.
        edited: the function that an Edit has changed, and its code since.

    """

    target: str
    steps: tuple[tuple[Any, Step, Any], ...]
    edited: tuple[FunctionType, CodeType] | None = None


def route_of(
    target: str,
    module: ModuleType,
    steps: tuple[Step, ...],
    sites: Collection[Site],
    edited: FunctionType | None = None,
) -> Route:
    """Walk to a target; what a change's own sites look after is left out."""
    walked = [*_begin(module), *_walk(module, steps)]
    ends = {(id(site.owner), site.name) for site in sites}
    left = tuple(stop for stop in walked if (id(stop[0]), stop[1]) not in ends)
    return Route(target, left, None if edited is None else (edited, edited.__code__))


def _begin(module: ModuleType) -> Iterator[tuple[Any, Step, Any]]:
    name = module.__name__
    if name != "__main__" and sys.modules.get(name) is module:  # runpy lends that name to others
        yield sys.modules, Item(name), module


def _walk(owner: Any, steps: tuple[Step, ...]) -> Iterator[tuple[Any, Step, Any]]:
    for step in steps:
        value = peek(owner, step)
        if value is MISSING or _is_computed(owner, step, value):
            return  # it is made for each who asks: nothing that could be compared
        yield owner, step, value
        owner = value


def _is_computed(owner: Any, step: Step, value: Any) -> bool:
    """Whether a class computes an attribute of its instance."""
    return (
        not isinstance(step, Item)
        and not isinstance(owner, type)
        and step not in namespace(owner)
        and hasattr(type(value), "__get__")
    )
