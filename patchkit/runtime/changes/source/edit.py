"""Prepares Edit: part of a function's source is replaced, and compiled into the same function.

The function is the one that a `def` statement made, beneath all that is around it.
"""

from itertools import pairwise
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, ClassVar

from patchkit.core.rows.declaration import Edit
from patchkit.core.rows.target import Item, TargetStep, steps_of
from patchkit.core.text.rewriting import TextEdit
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.owners import CACHED, inside, locate, namespace, read
from patchkit.runtime.changes.site import Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.changes.source.code_site import CodeEdit, CodeSite, CodeSites

_BUILT_IN_FIELDS = (MemberDescriptorType, GetSetDescriptorType)
"""What `property.fset` and `partial.func` are in their types."""


class PreparedEdit(PreparedLayers, frozen=False):
    """An edit that was built once to see that it can be; the function stays the same object.

    Args:
        code: The function's site, which the edit is put on.
    """

    code: CodeSite
    sites: ClassVar[tuple[Site, ...]] = ()  # so that no copy is ever stale


def prepare(change: Edit, context: Context) -> PreparedEdit:
    """Resolve the function, and build it with the edit.

    Args:
        change: What the row declares.
        context: Where the change works; the target's module has been imported.

    Returns:
        The edit, which only has to be put on.

    Raises:
        TargetError: The function is not there, has no source, or the edit does not match.
    """
    assert context.module is not None
    label = f"Edit({change.target!r})"
    if change.old.strip() == change.new.strip():
        raise TargetError(
            f"{label}: new={change.new!r} equals old: the Edit changes nothing"
        )
    try:
        outer_layers, function = function_at(
            context.module, change.place.qualname, context.sites
        )
        code = context.sites.noted(CodeSites).at(function)
    except TargetError as error:
        raise TargetError(f"{label}: {error}") from error
    for cache in _caches(outer_layers, function):
        code.caches[id(cache)] = cache
    text_edit = TextEdit(change.old, change.new, change.count)
    edit = CodeEdit(label, text_edit, context.rank, context.patch)
    code.prepare(edit)
    parts: Any = [(code, edit)]
    return PreparedEdit(parts, code)


def function_at(
    module: ModuleType, qualname: str, sites: Sites
) -> tuple[list[Any], FunctionType]:
    """Find a target's function beneath patches, decorators and descriptors.

    Args:
        module: The target's module.
        qualname: The target's name in the module.
        sites: The changed attributes of this process, which hold what is beneath patches.

    Returns:
        What is around the function, the outermost first, and the function itself.

    Raises:
        TargetError: Nothing is there, or no function that the module itself has made in Python.
    """
    locate(module, qualname)  # tells in full where nothing is
    value: Any = module
    for step in steps_of(qualname):
        value = _original_at(value, step, sites)
    *outer_layers, function = layers(value)
    _refuse_unreached([*outer_layers, function])
    if not isinstance(function, FunctionType):
        raise TargetError(
            f"found {function!r}, expected a function or method written in Python"
        )
    home = function.__globals__.get("__name__")
    # What is local was made for this module.
    is_local = "<locals>" in function.__qualname__
    if home != module.__name__ and not is_local:
        source = f"{home}:{function.__qualname__}"
        raise TargetError(
            f"it is only imported from {source}, and an edit is one for all that import it; "
            f"expected {source}"
        )
    return outer_layers, function


def layers(value: Any) -> list[Any]:
    """Follow descriptors, partial and cached functions and decorators to what they are around.

    Args:
        value: What a target holds.

    Returns:
        The value itself and what is beneath it, the innermost last.
    """
    chain = [value]
    inner = _inside(value)
    while inner is not None:
        if any(inner is layer for layer in chain):
            break
        chain.append(inner)
        inner = _inside(inner)
    return chain


def _refuse_unreached(chain: list[Any]) -> None:
    """Refuse to follow a decorator to what it has only taken name and signature of."""
    decorators = [
        (outer, inner)
        for outer, inner in pairwise(chain)
        if isinstance(outer, FunctionType)
    ]
    if not decorators:
        return
    from patchkit.runtime.changes.calling import may_call  # noqa: PLC0415 - few have one

    for outer, inner in decorators:
        code = outer.__code__
        is_same_code = getattr(inner, "__code__", None) is code
        is_copy = is_same_code and inner.__closure__ is outer.__closure__
        # Code that names a function may get it from anywhere.
        is_named = getattr(inner, "__name__", None) in code.co_names
        if is_copy or (not is_named and may_call(outer, inner) is False):
            raise TargetError(
                f"found {_place(outer)}, which does not call what its __wrapped__ names, "
                f"{_place(inner)}; an edit would change that and not the target"
            )


def _place(value: Any) -> str:
    """Name a function and where it begins; `functools.wraps` gives two of them one name."""
    code = getattr(value, "__code__", None)
    if code is None:
        return repr(value)
    return f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"


def _inside(value: Any) -> Any:
    """Return what a layer is directly around; None where it is around nothing."""
    if isinstance(value, type):
        return None
    if isinstance(value, property):
        return value.fget
    parts = inside(value)
    if parts:
        return parts[0]
    if callable(value):
        return getattr(value, "__wrapped__", None)
    return None


def _caches(outer_layers: list[Any], function: FunctionType) -> list[Any]:
    """Find the caches that keep a function's answers: around it, and under names of its module."""
    named = [
        value for value in list(function.__globals__.values()) if type(value) is CACHED
    ]
    candidates = list(outer_layers)
    candidates += [cache for cache in named if layers(cache)[-1] is function]
    return [
        cache for cache in candidates if callable(getattr(cache, "cache_clear", None))
    ]


def _original_at(owner: Any, step: TargetStep, sites: Sites) -> Any:
    """Return what one step of a target leads to, beneath the patches on it."""
    if isinstance(step, str):
        _refuse_inherited(owner, step)
    site = sites.get(owner, step)
    if site is not None and site.layers:
        patches = [layer.patch for layer in site.layers if layer.base]
        if patches and not _derives(site.current, site.original):
            raise TargetError(
                f"{site.words} is replaced by patch {', '.join(patches)}, so that an edit of the "
                "original has no effect"
            )
        return site.original
    value = read(owner, step)
    is_namespace = isinstance(owner, (type, ModuleType))
    if is_namespace or isinstance(step, Item) or step in namespace(owner):
        return value
    return getattr(owner, step)


def _derives(current: Any, original: Any) -> bool:
    """Whether what is in place of an object is a class that derives from it."""
    if not isinstance(current, type) or not isinstance(original, type):
        return False
    return original in current.__mro__


def _refuse_inherited(owner: Any, name: str) -> None:
    """Refuse a method by the name of a class that only inherits it."""
    if isinstance(owner, ModuleType) or name in namespace(owner):
        return
    kind = owner if isinstance(owner, type) else type(owner)
    for base in kind.__mro__:
        value = vars(base).get(name)
        if base is owner or value is None or isinstance(value, _BUILT_IN_FIELDS):
            continue
        source = f"{base.__module__}:{base.__qualname__}"
        raise TargetError(
            f"{name} is inherited from {source}, and an edit is one for all that inherit it; "
            f"expected {source}.{name}"
        )
