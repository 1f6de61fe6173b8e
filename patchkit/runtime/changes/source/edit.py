"""Edit: part of a function's own source is replaced, and recompiled into the same function.

The function is the one that a `def` statement made, beneath all that is around it.
"""

from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, ClassVar

from patchkit.core.rows.declaration import Edit
from patchkit.core.rows.target import Item, TargetStep, steps_of
from patchkit.core.text.rewriting import TextEdit
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.owners import CACHED, inside, locate, namespace, read
from patchkit.runtime.changes.sites import Site, Sites
from patchkit.runtime.changes.source.code_site import CodeEdit, CodeSite, CodeSites

_BUILT_IN_FIELDS = (MemberDescriptorType, GetSetDescriptorType)
"""What `property.fset` and `partial.func` are in their types."""


class PreparedEdit(PreparedLayers, frozen=False):
    """An edit that was built once to see that it can be; the function stays the same object."""

    code: CodeSite
    sites: ClassVar[tuple[Site, ...]] = ()  # so that no copy is ever stale


def prepare(change: Edit, context: Context) -> PreparedEdit:
    """Resolve the function, and build it with the edit; a TargetError where that cannot be."""
    assert context.module is not None
    words = f"Edit({change.target!r})"
    if change.old.strip() == change.new.strip():
        raise TargetError(
            f"{words}: found new={change.new!r}, the same as old, expected other code"
        )
    try:
        around, function = function_at(context.module, change.place.qualname, context.sites)
        code = context.sites.noted(CodeSites).at(function)
    except TargetError as error:
        raise TargetError(f"{words}: {error}") from error
    code.caches.update((id(cache), cache) for cache in _caches(around, function))
    edit = CodeEdit(words, TextEdit(change.old, change.new, change.count), context.rank)
    code.prepare(edit)
    layers: Any = [(code, edit)]
    return PreparedEdit(layers, code)


def function_at(module: ModuleType, qualname: str, sites: Sites) -> tuple[list[Any], FunctionType]:
    """Find a target's function beneath patches, with what is around it; a TargetError for none."""
    locate(module, qualname)  # tells in full where nothing is
    value: Any = module
    for step in steps_of(qualname):
        value = _step(value, step, sites)
    *around, function = layers(value)
    if not isinstance(function, FunctionType):
        raise TargetError(f"found {function!r}, expected a function or method written in Python")
    home = function.__globals__.get("__name__")
    if home != module.__name__ and "<locals>" not in function.__qualname__:
        own = f"{home}:{function.__qualname__}"  # what is local was made for this module
        raise TargetError(
            f"it is only imported from {own}, and an edit is one for all that import it; "
            f"expected {own}"
        )
    return around, function


def layers(value: Any) -> list[Any]:
    """Follow descriptors, partial and cached functions and decorators to what they are around."""
    found = [value]
    while (inner := _inside(found[-1])) is not None:
        if any(inner is layer for layer in found):
            break
        found.append(inner)
    return found


def _inside(value: Any) -> Any:
    if isinstance(value, type):
        return None
    if isinstance(value, property):
        return value.fget
    if parts := inside(value):
        return parts[0]
    return getattr(value, "__wrapped__", None) if callable(value) else None


def _caches(around: list[Any], function: FunctionType) -> list[Any]:
    """Find the caches that keep a function's answers: around it, and under names of its module."""
    named = [cache for cache in list(function.__globals__.values()) if type(cache) is CACHED]
    around = [*around, *(cache for cache in named if layers(cache)[-1] is function)]
    return [cache for cache in around if callable(getattr(cache, "cache_clear", None))]


def _step(owner: Any, step: TargetStep, sites: Sites) -> Any:
    if isinstance(step, str):
        _refuse_inherited(owner, step)
    site = sites.get(owner, step)
    if site is not None and site.layers:
        replaced = [layer.patch for layer in site.layers if layer.base]
        if replaced and not isinstance(site.original, type):
            raise TargetError(
                f"{site.words} is replaced by patch {', '.join(replaced)}, so that an edit of the "
                "original has no effect"
            )
        return site.original
    value = read(owner, step)
    if isinstance(owner, (type, ModuleType)) or isinstance(step, Item) or step in namespace(owner):
        return value
    return getattr(owner, step)


def _refuse_inherited(owner: Any, name: str) -> None:
    if isinstance(owner, ModuleType) or name in namespace(owner):
        return
    kind = owner if isinstance(owner, type) else type(owner)
    for base in kind.__mro__:
        value = vars(base).get(name)
        if base is owner or value is None or isinstance(value, _BUILT_IN_FIELDS):
            continue
        raise TargetError(
            f"{name} is inherited from {base.__module__}:{base.__qualname__}, and an edit is one "
            f"for all that inherit it; expected {base.__module__}:{base.__qualname__}.{name}"
        )
