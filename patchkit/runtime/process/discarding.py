"""Refuses a Replace that would discard changes of other patches inside the object it replaces.

With a Wrap of `m:C.f` applied, `Replace("m:C")` would put a class in place that has no such wrap.
"""

from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from patchkit.errors import TargetError
from patchkit.runtime.changes.context import PreparedLayers
from patchkit.runtime.changes.owners import MISSING, function_of, inside, namespace
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.imports.finder import home, other_sessions


def refuse_to_discard(
    target: str, prepared: PreparedLayers, sites: Sites, patch: str
) -> None:
    """Refuse a Replace of an object in which other patches have changed something.

    Args:
        target: the target of the Replace, as text.
        prepared: the resolved Replace.
        sites: the changed attributes of this process.
        patch: the name of its patch.

    Raises:
        TargetError: a patch of another row, or of another copy of patchkit, would have no effect
            any more.
    """
    for site, layer in prepared.parts:
        _refuse_other_copy(target, site)
        # The original, and what other replacements have put there, may both have changed parts.
        for old in (site.original, site.current):
            if old is not MISSING:
                _refuse(target, old, layer.make(old), sites, patch)


def _refuse(target: str, old: Any, new: Any, sites: Sites, patch: str) -> None:
    """Raise if putting `new` in place of `old` would discard edits of `old`, or changes in it."""
    # An Edit of the old object itself is lost in any case: other code runs in its place.
    editors = set(_edits_of_value(old, sites))
    # In a function (`function_of` is not None) lies no other target that could be lost.
    is_discarded = function_of(old) is None and not _keeps_changes(old, new)
    if is_discarded:
        editors.update(_edits_inside(old, sites))
    if editors:
        names = ", ".join(sorted(editors))
        raise TargetError(
            f"Replace({target!r}): {names} edits the original, which would act "
            "no more; expected one of the two: let the Replace bring what the Edit changes"
        )
    patches = sorted(set(_patches_inside(old, sites)))
    if not (is_discarded and patches):
        return
    shown = ", ".join(patches)
    if patches == [patch]:  # its own changes, which were applied before this Replace
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
    """Raise if another copy of patchkit in this process has changed the attribute."""
    for other in other_sessions():
        names = other.patches_on(site.owner, site.name)
        if names:
            raise TargetError(
                f"Replace({target}): it would discard {', '.join(names)} of another copy of "
                f"patchkit, {home(other)}; expected one copy for both packs"
            )


def _keeps_changes(old: Any, new: Any) -> bool:
    """Whether changes in the old object act in the new one, too: it is the same, or a subclass."""
    if new is old or isinstance(old, ModuleType):
        return True
    if isinstance(old, type):
        return isinstance(new, type) and old in new.__mro__
    return False


def _patches_inside(whole: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches on attributes and items of an object, or of objects that lie in it."""
    for site in sites:
        if site.layers and _lies_in(site.owner, whole):
            yield from site.patches


def _lies_in(owner: Any, whole: Any) -> bool:
    """Whether a patched `owner` is `whole`, a class nested in it, or one of its values."""
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


def _edits_of_value(value: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches that edit a function, or those that a property or method is made of."""
    yield from _patches_editing([value, *inside(value)], sites)


def _edits_inside(whole: Any, sites: Sites) -> Iterator[str]:
    """Yield the patches that edit functions in a class or container."""
    for value in _values_in(whole):
        yield from _edits_of_value(value, sites)


def _patches_editing(functions: Iterable[Any], sites: Sites) -> Iterator[str]:
    """Yield the patches with an Edit of a function that is among some objects."""
    if not sites.has_noted("CodeSites"):  # no Edit was applied in this process
        return
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    for function in functions:
        code_site = sites.noted(CodeSites).get(function)
        if code_site is not None:
            yield from code_site.patches
