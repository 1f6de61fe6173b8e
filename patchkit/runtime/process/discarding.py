"""Refuses a Replace that would discard what other patches have changed in what it replaces."""

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from patchkit.errors import TargetError
from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import MISSING, function_of, inside, namespace
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.imports.finder import home, others


def refuse_to_discard(
    target: str, prepared: PreparedLayers, sites: Sites, patch: str
) -> None:
    """Refuse to put an object in place of one in which others have changed something.

    Args:
        target: the target of the Replace, in words.
        prepared: the Replace, which only has to be made.
        sites: the changed attributes of this process.
        patch: the name of its patch.

    Raises:
        TargetError: the patch of another row, or of another copy of patchkit, would act no more.
    """
    for site, layer in prepared.parts:
        _refuse_other_copy(target, site)
        for old in (site.original, site.current):
            if old is not MISSING:
                _refuse(target, old, layer.make(old), sites, patch)


def _refuse(target: str, old: Any, new: Any, sites: Sites, patch: str) -> None:
    """Refuse a Replace by which patches inside an object, or edits of it, would act no more."""
    edits = set(_edits_of(old, sites))
    is_whole = function_of(old) is None and not _goes_on(old, new)
    if is_whole:
        edits.update(_edits_inside(old, sites))
    if edits:
        raise TargetError(
            f"Replace({target!r}): {', '.join(sorted(edits))} edits the original, which would act "
            "no more; expected one of the two: let the Replace bring what the Edit changes"
        )
    parts = sorted(set(_patches_inside(old, sites)))
    if not (is_whole and parts):
        return
    shown = ", ".join(parts)
    if parts == [patch]:
        way_out = (
            "declare the Replace before them, with their targets in the same module"
        )
    else:
        way_out = f"name {patch} in `after` of {shown}"
    raise TargetError(
        f"Replace({target!r}): it would discard what {shown} changes in the object that it "
        f"replaces; {way_out}, so that they change what it brings"
    )


def _refuse_other_copy(target: str, site: Site) -> None:
    for other in others():
        names = other.patches_on(site.owner, site.name)
        if names:
            raise TargetError(
                f"Replace({target}): it would discard {', '.join(names)} of another copy of "
                f"patchkit, {home(other)}; expected one copy for both packs"
            )


def _goes_on(old: Any, new: Any) -> bool:
    """Whether what is changed in an object goes on acting in what comes in its place."""
    if new is old or isinstance(old, ModuleType):
        return True
    if isinstance(old, type):
        return isinstance(new, type) and old in new.__mro__
    return False


def _patches_inside(whole: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches on attributes and items of an object, and of those that lie in it."""
    for site in sites:
        if site.layers and _lies_in(site.owner, whole):
            yield from site.patches


def _lies_in(owner: Any, whole: Any) -> bool:
    """Whether a patched owner is an object, or lies in it: a nested class or container."""
    if owner is whole:
        return True
    if isinstance(whole, type) and isinstance(owner, type):
        is_below = owner.__qualname__.startswith(f"{whole.__qualname__}.")
        return is_below and owner.__module__ == whole.__module__
    return any(owner is value for value in _values_in(whole))


def _values_in(whole: Any) -> tuple[Any, ...]:
    """Return the items of a container, or the attributes of any other object."""
    if isinstance(whole, dict):
        return tuple(whole.values())
    if isinstance(whole, list):
        return tuple(whole)
    return tuple(namespace(whole).values())


def _edits_of(value: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches that edit the function that a value is, or is made of."""
    yield from _edits([value, *inside(value)], sites)


def _edits_inside(whole: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches that edit functions of a class, or of a container."""
    for value in _values_in(whole):
        yield from _edits_of(value, sites)


def _edits(functions: Iterable[Any], sites: Sites) -> Iterator[str]:
    if not sites.has_noted("CodeSites"):
        return
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    for function in functions:
        code_site = sites.noted(CodeSites).get(function)
        if code_site is not None:
            yield from code_site.patches
