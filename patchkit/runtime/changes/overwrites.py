"""Finds changed attributes that other code has wrapped or overwritten since.

Also finds replacements of a patch that are never called because a later patch replaces them.
"""

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Target, TargetStep
from patchkit.runtime.changes.context import Route, RouteStep
from patchkit.runtime.changes.foreign import described
from patchkit.runtime.changes.owners import MISSING, peek, read, words
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.imports.half_imported import is_half_imported


class Overwrite(NamedTuple):
    """A value that patchkit did not store on a changed attribute.

    Args:
        value: The value that the attribute has now.
        by: What it is and where it comes from, in words.
        wraps: Whether it can call the patch's value.
        unsure: Whether its code only may do so: it can reach the patch's value.
    """

    value: Any
    by: str
    wraps: bool
    unsure: bool = False


def stranger_at(site: Site, sites: Sites) -> Overwrite | None:
    """Find out whether an attribute still has the value that patches gave it.

    Args:
        site: The attribute.
        sites: All changed attributes of this process.

    Returns:
        The value that other code has stored there; None if the attribute is intact.
    """
    with site.guard:  # another thread may be changing it
        value = read(site.owner, site.name)
        if value is site.current:
            function_and_code = site.code_since()
            if function_and_code is None:
                return None
            return _stranger_in(*function_and_code, sites)
        # A later patch may lie on the foreign value, with a site of its own: look beneath it.
        while value is not site.current:
            newer = sites.get(site.owner, site.name)
            if newer is None or newer is site or value is not newer.current:
                return _judged(value, site)
            value = newer.original
            if newer.original is newer.current:  # that patch has been undone
                return _judged(value, site)
        return None


def _judged(value: Any, site: Site) -> Overwrite:
    """Describe a value that an attribute has in place of the one that patches gave it."""
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
    """Describe a foreign value: whether it can call the patch's value.

    Args:
        value: The foreign value.
        by: What it is, in words.
        goal: The patch's value.
        owner: The object that has the attribute.
    """
    if value is MISSING:
        return Overwrite(value, by, wraps=False)
    from patchkit.runtime.changes.calling import may_call  # noqa: PLC0415 - rarely needed

    answer = may_call(value, goal, owner)
    can_call = answer is not False
    is_unsure = answer is None
    return Overwrite(value, by, wraps=can_call, unsure=is_unsure)


def strangers_on_copies(site: Site) -> Iterator[tuple[str, Overwrite]]:
    """Find the repointed copies that other code has set since.

    Args:
        site: The attribute that they are copies of.

    Yields:
        The name of the copy, and its value.
    """
    for owner, name in list(site.aliases.values()):
        value = read(owner, name)
        is_intact = value is site.current or value is MISSING
        if is_intact or site.is_patched(owner, name):
            continue
        copy = _copy_name(owner, name)
        if site.knows(value):
            yield copy, Overwrite(value, "what it copied before", wraps=False)
        else:
            by = described(value)
            yield copy, _compared(value, by, site.current, owner)


def _copy_name(owner: Any, name: TargetStep) -> str:
    """Return the name of a copy for messages; an item of a module's dict is its attribute."""
    if isinstance(owner, dict):
        module = dict.get(owner, "__name__")
        if module:
            return f"{module}.{getattr(name, 'key', name)}"
    return words(owner, name)


def stranger_on(route: Route, sites: Sites) -> Overwrite | None:
    """Find out whether a target's name still leads to the object that was changed.

    Args:
        route: The objects on the way when the change was made.
        sites: All changed attributes of this process.

    Returns:
        The value that other code has stored on the way; None if the name leads to the same object.
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
    """Describe what stands at a step in place of the former value; None if that is a patch's."""
    owner, step, value = stop
    now = peek(owner, step)
    if owner is sys.modules:
        return _other_module(now, stop, route)
    # If the step has a site, or is repointed with one, the value may be any that the site has had.
    changed = sites.get(owner, step)
    leader = sites.leader(owner, step)
    for site in (changed, leader):
        if site is None:
            continue
        with site.guard:  # another thread may be changing it, so it is read once more
            now = peek(owner, step)
            if site.knows(now) or now is value:
                return None
            if site.layers:
                value = site.current  # what a foreign value may call
    by = described(now)
    return _compared_beyond((owner, step, value), now, by, route)


def _compared_beyond(stop: RouteStep, now: Any, by: str, route: Route) -> Overwrite:
    """Describe a foreign value at a step by whether the rest of the way ends at the same object.

    Args:
        stop: The step, with its former value.
        now: The value that stands there.
        by: What that is, in words.
        route: The way.
    """
    owner, step, value = stop
    steps = Target.parse(route.target).steps
    # (The step from `sys.modules` to the module is none of these: then all are left to go.)
    if step in steps:
        steps = steps[steps.index(step) + 1 :]
    # Walk on from the former value (`value`) and from the foreign one (`reached`), side by side.
    reached = now
    for inner in steps:
        next_value = peek(reached, inner)
        if next_value is MISSING:
            break
        owner = reached
        reached = next_value
        value = peek(value, inner)
    if reached is value:
        return Overwrite(now, by, wraps=True)
    # What is reported is the value at the step, not the one at the end of the way.
    return _compared(reached, by, value, owner)._replace(value=now)


def _other_module(now: Any, stop: RouteStep, route: Route) -> Overwrite | None:
    """Describe another module that has taken the place of a target's module in `sys.modules`.

    None if the patches are applied to it anyway, or have to be.
    """
    if now is MISSING or is_half_imported(now):
        return None  # the import that is to come, or to end, applies the patches
    origin = getattr(now, "__file__", None)
    _, _, former = stop
    former_origin = getattr(former, "__file__", None)
    if origin and origin == former_origin:
        # Somebody has executed the file once more: the next check applies the patches to that.
        return None
    by = f"another module under its name ({origin or 'made by hand'})"
    return _compared_beyond(stop, now, by, route)


def _stranger_in(
    function: FunctionType, code: CodeType, sites: Sites
) -> Overwrite | None:
    """Describe the code of a function if other code than an Edit has replaced it.

    Args:
        function: The function.
        code: The code that it had before.
        sites: All changed attributes of this process.
    """
    now = function.__code__
    if now is code:
        return None
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    code_site = sites.noted(CodeSites).get(function)
    if code_site is not None and code_site.is_intact():
        return None
    line = f"{now.co_filename}:{now.co_firstlineno}"
    by = f"another code in the same function ({line})"
    if _is_instrumented(now, code):
        return Overwrite(now, by, wraps=True)
    # Foreign code that wraps the function calls a copy of it, which has the former code.
    former = FunctionType(code, {}, closure=function.__closure__)  # it is never called
    return _compared(function, by, former, None)._replace(value=now)


def _is_instrumented(now: CodeType, code: CodeType) -> bool:
    """Whether code is the former one with additions of a line profiler or a tracer."""
    for attribute in ("co_name", "co_filename", "co_firstlineno"):
        if getattr(now, attribute) != getattr(code, attribute):
            return False
    loaded = {*code.co_names, *code.co_consts}
    loaded_now = {*now.co_names, *now.co_consts}
    return loaded <= loaded_now


def hidden_on(
    sites: Iterable[tuple[str, Site]], patch: str
) -> dict[str, dict[str, str]]:
    """Find the replacements of a patch that never run, because a later patch replaces them.

    Args:
        sites: The attributes that the patch changes, each with its target.
        patch: The name of the patch.

    Returns:
        For each such target, a dict from the patch to the one whose replacement hides it.
    """
    hidden: dict[str, dict[str, str]] = {}
    for target, site in tuple(sites):
        replacements = [layer for layer in site.layers if layer.base]
        own_values = [layer.value for layer in replacements if layer.patch == patch]
        if own_values and replacements[-1].patch != patch:
            from patchkit.runtime.changes.calling import may_call  # noqa: PLC0415 - rarely needed

            top = replacements[-1]
            # The later replacement may call the earlier one, which its body has imported.
            if all(may_call(top.value, value) is False for value in own_values):
                hidden[target] = {patch: top.patch}
    return hidden
