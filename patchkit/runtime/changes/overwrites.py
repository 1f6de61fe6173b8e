"""What became of the changed attributes: intact, wrapped by somebody else, or overwritten."""

import sys
from collections.abc import Collection, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.foreign import described, leads_to
from patchkit.runtime.changes.owners import MISSING, namespace, peek, read, words
from patchkit.runtime.changes.sites import Site, Sites
from patchkit.runtime.imports.half_imported import is_half_imported


class Overwrite(NamedTuple):
    """Somebody else's value on a changed attribute, in words; it may wrap what was put there."""

    value: Any
    by: str
    wraps: bool


def stranger_at(site: Site, sites: Sites) -> Overwrite | None:
    """Look at an attribute as a patch has changed it; None where it is intact."""
    with site.guard:  # another thread may be changing it
        value = read(site.owner, site.name)
        if value is site.current and (changed := site.code_since()):
            return _stranger_in(*changed, sites)
        while value is not site.current:
            newer = sites.get(site.owner, site.name)
            if newer is None or newer is site or value is not newer.current:
                return _judged(value, site)
            value = newer.original  # a later patch has come on top of somebody else's
            if newer.original is newer.current:
                return _judged(value, site)
        return None


def _judged(value: Any, site: Site) -> Overwrite:
    if value is site.original:
        return Overwrite(value, "its original, which somebody has put back", wraps=False)
    if value is not MISSING and site.knows(value):
        return Overwrite(value, "an earlier state, which somebody has put back", wraps=False)
    return Overwrite(value, described(value), wraps=leads_to(value, site.current))


def strangers_on_copies(site: Site) -> Iterator[tuple[str, Overwrite]]:
    """Name the copies that were repointed, and that somebody has set again since."""
    for owner, name in list(site.aliases.values()):
        value = read(owner, name)
        if value is site.current or value is MISSING or site.is_patched(owner, name):
            continue
        module = dict.get(owner, "__name__") if isinstance(owner, dict) else None
        where = f"{module}.{getattr(name, 'key', name)}" if module else words(owner, name)
        if site.knows(value):
            yield where, Overwrite(value, "what it copied before", wraps=False)
        else:
            yield where, Overwrite(value, described(value), wraps=leads_to(value, site.current))


class Route(NamedTuple):
    """What stood at each step on the way to a target."""

    target: str
    steps: tuple[
        tuple[Any, TargetStep, Any], ...
    ]  # owner, attribute or item, and what was found there
    edited: tuple[FunctionType, CodeType] | None = None  # what an Edit changed, and its code since


def route_of(
    target: str,
    module: ModuleType,
    steps: tuple[TargetStep, ...],
    sites: Collection[Site],
    edited: FunctionType | None = None,
) -> Route:
    """Walk to a target; what a change's own sites look after is left out."""
    walked = [*_walk(module, steps)]
    name = module.__name__
    if name != "__main__" and sys.modules.get(name) is module:  # runpy lends that name to others
        walked.insert(0, (sys.modules, Item(name), module))
    ends = {(id(site.owner), site.name) for site in sites}
    left = tuple(stop for stop in walked if (id(stop[0]), stop[1]) not in ends)
    return Route(target, left, None if edited is None else (edited, edited.__code__))


def _walk(owner: Any, steps: tuple[TargetStep, ...]) -> Iterator[tuple[Any, TargetStep, Any]]:
    for step in steps:
        value = peek(owner, step)
        inherits = not (isinstance(step, Item) or isinstance(owner, type))
        is_class_s = inherits and step not in namespace(owner)
        if value is MISSING or (is_class_s and hasattr(type(value), "__get__")):
            return  # it is made for each who asks: nothing that could be compared
        yield owner, step, value
        owner = value


def stranger_on(route: Route, sites: Sites) -> Overwrite | None:
    """Walk to a target again; None where the way leads to what was changed."""
    for owner, step, value in route.steps:
        if peek(owner, step) is not value and (stranger := _judged_step(owner, step, value, sites)):
            return stranger
    return _stranger_in(*route.edited, sites) if route.edited is not None else None


def _judged_step(owner: Any, step: TargetStep, value: Any, sites: Sites) -> Overwrite | None:
    now = peek(owner, step)
    if owner is sys.modules:
        if now is MISSING or is_half_imported(now):
            return None  # its next import applies everything anew
        by = f"another module under its name ({getattr(now, '__file__', None) or 'made by hand'})"
        return Overwrite(now, by, wraps=leads_to(now, value))
    # A patch of its own may lie there, or one whose copy it is; then it is looked at there.
    for site in (sites.get(owner, step), sites.leader(owner, step)):
        if site is not None:
            with site.guard:  # another thread may be changing it
                now = peek(owner, step)
                if site.knows(now) or now is value:
                    return None
                value = site.current if site.layers else value
    return Overwrite(now, described(now), wraps=now is not MISSING and leads_to(now, value))


def _stranger_in(function: FunctionType, code: CodeType, sites: Sites) -> Overwrite | None:
    now = function.__code__
    if now is code:
        return None
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    edited = sites.noted(CodeSites).get(function)
    if edited is not None and edited.is_intact():
        return None
    by = f"another code in the same function ({now.co_filename}:{now.co_firstlineno})"
    return Overwrite(now, by, wraps=_is_instrumented(now, code))


def _is_instrumented(now: CodeType, code: CodeType) -> bool:
    """Whether it is the same code with something added, as a line profiler or a tracer adds it."""
    place = ("co_name", "co_filename", "co_firstlineno")
    is_there = all(getattr(now, name) == getattr(code, name) for name in place)
    return is_there and {*code.co_names, *code.co_consts} <= {*now.co_names, *now.co_consts}
