"""Finds changed attributes that somebody else has wrapped or overwritten since.

And replacements that never act, as another patch's lies on them.
"""

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item, Target, TargetStep
from patchkit.runtime.changes.foreign import described
from patchkit.runtime.changes.owners import MISSING, namespace, peek, read, words
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.imports.half_imported import is_half_imported

RouteStep = tuple[Any, TargetStep, Any]
"""A step on the way to a target: its owner, the attribute or item, and what stood there."""


class Overwrite(NamedTuple):
    """Somebody else's value on a changed attribute.

    Args:
        value: The object that stands there now.
        by: What it is and where it comes from, in words.
        wraps: Whether it can call what the patch has put there.
        unsure: Whether that cannot be told from its code, though it can reach it.
    """

    value: Any
    by: str
    wraps: bool
    unsure: bool = False


class Route(NamedTuple):
    """What stood at each step on the way to a target.

    Args:
        target: The target, as its change names it.
        steps: The steps, the module first; without those that the change's own sites look after.
        edited: The function that an Edit changed, and the code that it had then.
    """

    target: str
    steps: tuple[RouteStep, ...]
    edited: tuple[FunctionType, CodeType] | None = None


def stranger_at(site: Site, sites: Sites) -> Overwrite | None:
    """Compare an attribute with what a patch has put there.

    Args:
        site: The attribute.
        sites: All changed attributes of this process.

    Returns:
        What somebody else has put there; None if the attribute is intact.
    """
    with site.guard:  # another thread may be changing it
        value = read(site.owner, site.name)
        if value is site.current:
            function_and_code = site.code_since()
            if function_and_code is None:
                return None
            return _stranger_in(*function_and_code, sites)
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
        return Overwrite(
            value, "its original, which somebody has put back", wraps=False
        )
    if value is not MISSING and site.knows(value):
        return Overwrite(
            value, "an earlier state, which somebody has put back", wraps=False
        )
    return _compared(value, described(value), site.current, site.owner)


def _compared(value: Any, by: str, goal: Any, owner: Any) -> Overwrite:
    """Judge a stranger's value by whether it can call what a patch has put there."""
    if value is MISSING:
        return Overwrite(value, by, wraps=False)
    from patchkit.runtime.changes.calling import may_call  # noqa: PLC0415 - rarely needed

    answer = may_call(value, goal, owner)
    return Overwrite(value, by, wraps=answer is not False, unsure=answer is None)


def strangers_on_copies(site: Site) -> Iterator[tuple[str, Overwrite]]:
    """Find the copies that were repointed, and that somebody has set again since.

    Args:
        site: The attribute that they are copies of.

    Yields:
        The name of the copy, and what it holds.
    """
    for owner, name in list(site.aliases.values()):
        value = read(owner, name)
        if value is site.current or value is MISSING or site.is_patched(owner, name):
            continue
        copy = _copy_name(owner, name)
        if site.knows(value):
            yield copy, Overwrite(value, "what it copied before", wraps=False)
        else:
            yield copy, _compared(value, described(value), site.current, owner)


def _copy_name(owner: Any, name: TargetStep) -> str:
    """Return the name of a copy; an item of a module's dict is its attribute."""
    if isinstance(owner, dict):
        module = dict.get(owner, "__name__")
        if module:
            return f"{module}.{getattr(name, 'key', name)}"
    return words(owner, name)


def stranger_on(route: Route, sites: Sites) -> Overwrite | None:
    """Walk to a target again.

    Args:
        route: What stood on the way when the change was made.
        sites: All changed attributes of this process.

    Returns:
        What somebody else has put on the way; None if it still leads to what was changed.
    """
    for stop in route.steps:
        owner, step, value = stop
        if peek(owner, step) is not value:
            stranger = _stranger_at_step(stop, route, sites)
            if stranger is not None:
                return stranger
    if route.edited is None:
        return None
    return _stranger_in(*route.edited, sites)


def _stranger_at_step(stop: RouteStep, route: Route, sites: Sites) -> Overwrite | None:
    owner, step, value = stop
    now = peek(owner, step)
    if owner is sys.modules:
        return _other_module(now, stop, route)
    # A patch of its own may lie there, or one whose copy it is; then it is looked at there.
    for site in (sites.get(owner, step), sites.leader(owner, step)):
        if site is None:
            continue
        with site.guard:  # another thread may be changing it
            now = peek(owner, step)
            if site.knows(now) or now is value:
                return None
            if site.layers:
                value = site.current
    return _compared_beyond((owner, step, value), now, described(now), route)


def _compared_beyond(stop: RouteStep, now: Any, by: str, route: Route) -> Overwrite:
    """Judge what a stranger has put on the way by what lies there at the end of the way."""
    owner, step, value = stop
    steps = Target.parse(route.target).steps
    if step in steps:
        steps = steps[steps.index(step) + 1 :]
    there = now
    for inner in steps:
        found = peek(there, inner)
        if found is MISSING:
            break
        owner = there
        there = found
        value = peek(value, inner)
    if there is value:
        return Overwrite(now, by, wraps=True)
    return _compared(there, by, value, owner)._replace(value=now)


def _other_module(now: Any, stop: RouteStep, route: Route) -> Overwrite | None:
    """Judge what stands in `sys.modules` now, where a target's module stood."""
    if now is MISSING or is_half_imported(now):
        return None  # its next import applies everything anew
    origin = getattr(now, "__file__", None)
    if origin and origin == getattr(stop[2], "__file__", None):
        # Somebody has executed a copy beside it; the next look applies everything to that.
        return None
    by = f"another module under its name ({origin or 'made by hand'})"
    return _compared_beyond(stop, now, by, route)


def _stranger_in(
    function: FunctionType, code: CodeType, sites: Sites
) -> Overwrite | None:
    """Compare the code of a function with what it had; a later Edit is no stranger's."""
    now = function.__code__
    if now is code:
        return None
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    code_site = sites.noted(CodeSites).get(function)
    if code_site is not None and code_site.is_intact():
        return None
    by = f"another code in the same function ({now.co_filename}:{now.co_firstlineno})"
    if _is_instrumented(now, code):
        return Overwrite(now, by, wraps=True)
    # What wraps by bytecode gives the former code to another function, and calls that.
    former = FunctionType(code, {}, closure=function.__closure__)
    return _compared(function, by, former, None)._replace(value=now)


def _is_instrumented(now: CodeType, code: CodeType) -> bool:
    """Whether it is the same code with something added, as a line profiler or a tracer adds it."""
    for attribute in ("co_name", "co_filename", "co_firstlineno"):
        if getattr(now, attribute) != getattr(code, attribute):
            return False
    return {*code.co_names, *code.co_consts} <= {*now.co_names, *now.co_consts}


def route_of(
    target: str,
    module: ModuleType,
    steps: Iterable[TargetStep],
    sites: Iterable[Site],
    edited: FunctionType | None = None,
) -> Route:
    """Walk to a target, and remember what stands at each step.

    Args:
        target: the target, for messages.
        module: the module that it lies in.
        steps: its qualname, step by step.
        sites: the change's own sites, which are compared by themselves and left out of the route.
        edited: the function whose code an Edit has changed.

    Returns:
        The route, to be walked again later.
    """
    own = {(id(site.owner), site.name) for site in sites}
    stops: list[tuple[Any, TargetStep, Any]] = []
    name = module.__name__
    # runpy lends that name to others.
    if name != "__main__" and sys.modules.get(name) is module:
        stops.append((sys.modules, Item(name), module))
    owner: Any = module
    for step in steps:
        value = peek(owner, step)
        if value is MISSING:
            break
        is_of_class = not isinstance(step, Item) and not isinstance(owner, type)
        if (
            is_of_class
            and hasattr(type(value), "__get__")
            and step not in namespace(owner)
        ):
            break  # it is made for each who asks: nothing that could be compared
        if (id(owner), step) not in own:
            stops.append((owner, step, value))
        owner = value
    if edited is None:
        return Route(target, tuple(stops))
    return Route(target, tuple(stops), (edited, edited.__code__))


def hidden_on(
    sites: Iterable[tuple[str, Site]], patch: str
) -> dict[str, dict[str, str]]:
    """Find the replacements of a patch that are never called, as another one lies on them.

    Args:
        sites: The attributes that the patch changes, each with its target.
        patch: The name of the patch.

    Returns:
        For each such target the patch, with the patch whose replacement hides it.
    """
    hidden: dict[str, dict[str, str]] = {}
    for target, site in tuple(sites):
        replacements = [layer for layer in site.layers if layer.base]
        own = [layer.value for layer in replacements if layer.patch == patch]
        if own and replacements[-1].patch != patch:
            from patchkit.runtime.changes.calling import may_call  # noqa: PLC0415 - rarely needed

            top = replacements[-1]
            # A body may have imported the target as it was with the earlier patch.
            if all(may_call(top.value, value) is False for value in own):
                hidden[target] = {patch: top.patch}
    return hidden
