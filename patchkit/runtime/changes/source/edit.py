"""Prepares Edit: replaces a part of a function's source, and compiles it into the same function.

The function is the one that a `def` statement has made, inside of decorators, descriptors and
patches.
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
"""The types of built-in attributes such as `property.fset` and `partial.func`.

A target may go through one (`Class.size.fset`), though it is inherited from a built-in class.
"""


class PreparedEdit(PreparedLayers, frozen=False):
    """An edit that is known to match; the function will stay the same object.

    Args:
        code: The function's site, which the edit is put on.
    """

    code: CodeSite
    sites: ClassVar[
        tuple[Site, ...]
    ] = ()  # no attribute is changed, so no copy is stale


def prepare(change: Edit, context: Context) -> PreparedEdit:
    """Find the function of an Edit, and compile the edited text once to check it.

    Args:
        change: The change, as its row declares it.
        context: What it is prepared with; the target's module has been imported.

    Returns:
        The edit, to be applied.

    Raises:
        TargetError: The function is missing, has no source, or the edit does not match.
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
    # They are put on and removed like a layer of a `Site`.
    parts: Any = [(code, edit)]
    return PreparedEdit(parts, code)


def function_at(
    module: ModuleType, qualname: str, sites: Sites
) -> tuple[list[Any], FunctionType]:
    """Find a target's function inside of patches, decorators and descriptors.

    Args:
        module: The target's module.
        qualname: The target's name in the module.
        sites: The changed attributes of this process, with the originals beneath patches.

    Returns:
        The objects around the function, the outermost first, and the function itself.

    Raises:
        TargetError: The target is missing, or is no Python function that the module defines.
    """
    locate(module, qualname)  # raises if it is missing
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
    # A function that a factory of another module has made belongs to this module.
    is_local = "<locals>" in function.__qualname__
    if home != module.__name__ and not is_local:
        source = f"{home}:{function.__qualname__}"
        raise TargetError(
            f"it is only imported from {source}, and an edit is one for all that import it; "
            f"expected {source}"
        )
    return outer_layers, function


def layers(value: Any) -> list[Any]:
    """Unpack descriptors, partials, cached and decorated functions, one inside the other.

    Args:
        value: The value of a target.

    Returns:
        The value itself and what is inside it, the innermost object last.
    """
    chain = [value]
    inner = _inside(value)
    while inner is not None:
        if any(inner is layer for layer in chain):  # a `__wrapped__` that leads back
            break
        chain.append(inner)
        inner = _inside(inner)
    return chain


def _refuse_unreached(chain: list[Any]) -> None:
    """Raise a TargetError if a decorator does not call what its `__wrapped__` leads to.

    `functools.wraps` may have been used only to copy a name and a signature. An Edit of that other
    function would not change the target.

    Args:
        chain: A function and the objects around it, the outermost first.
    """
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
        # A copy of the function runs the same code itself, and does not call the original.
        is_copy = is_same_code and inner.__closure__ is outer.__closure__
        # If the decorator's code has the function's name, it may well load and call the function.
        is_named = getattr(inner, "__name__", None) in code.co_names
        # (`may_call` returns None where it cannot tell.)
        if is_copy or (not is_named and may_call(outer, inner) is False):
            raise TargetError(
                f"found {_place(outer)}, which does not call what its __wrapped__ names, "
                f"{_place(inner)}; an edit would change that and not the target"
            )


def _place(value: Any) -> str:
    """Describe a function with its file and line: with `functools.wraps`, two have one name."""
    code = getattr(value, "__code__", None)
    if code is None:
        return repr(value)
    return f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"


def _inside(value: Any) -> Any:
    """Return the object directly inside a descriptor or decorated function; None if there is none.

    A class is not unpacked.
    """
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
    """Find the caches of a function's results, which an Edit makes outdated.

    Args:
        outer_layers: The objects around the function in its target.
        function: The function; an `lru_cache` of it may have another name in its module.

    Returns:
        The objects with a `cache_clear` method.
    """
    named = [
        value for value in list(function.__globals__.values()) if type(value) is CACHED
    ]
    candidates = list(outer_layers)
    candidates += [cache for cache in named if layers(cache)[-1] is function]
    return [
        cache for cache in candidates if callable(getattr(cache, "cache_clear", None))
    ]


def _original_at(owner: Any, step: TargetStep, sites: Sites) -> Any:
    """Return the value of one step of a target without the patches on it."""
    if isinstance(step, str):
        _refuse_inherited(owner, step)
    site = sites.get(owner, step)
    if site is not None and site.layers:
        patches = [layer.patch for layer in site.layers if layer.base]
        # A class that derives from the original still has the method, if only by `super()`.
        if patches and not _derives(site.current, site.original):
            raise TargetError(
                f"{site.words} is replaced by patch {', '.join(patches)}, so that an edit of the "
                "original has no effect"
            )
        return site.original
    value = read(owner, step)
    # Of an object that is no class or module, `value` may be a descriptor of its class: `getattr`
    # runs that.
    is_namespace = isinstance(owner, (type, ModuleType))
    if is_namespace or isinstance(step, Item) or step in namespace(owner):
        return value
    return getattr(owner, step)


def _derives(current: Any, original: Any) -> bool:
    """Whether both are classes, and the current one derives from the original."""
    if not isinstance(current, type) or not isinstance(original, type):
        return False
    return original in current.__mro__


def _refuse_inherited(owner: Any, name: str) -> None:
    """Raise a TargetError if a class inherits the method: an Edit would change it in the base."""
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
