"""Edit: part of a function's own source is replaced, and recompiled into the same function."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import has_own, locate, namespace, read
from patchkit.changes.source.code_site import CodeEdit, CodeSites
from patchkit.changes.source.rewriting import TextEdit
from patchkit.errors import TargetError
from patchkit.rows.target import Item, steps_of

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.changes.sites import Site, Sites
    from patchkit.changes.source.code_site import Built, CodeSite
    from patchkit.rows.declaration import Edit
    from patchkit.rows.target import Step


@dataclass
class PreparedEdit:
    """
    An edit that was built once to see that it can be.

    Args:
        code: where it goes.
        edit: what goes there.
        built: the function with it.

    """

    code: CodeSite
    edit: CodeEdit
    built: Built
    sites: tuple[Site, ...] = ()  # the function stays the same object: no copy is ever stale

    def apply(self) -> None:
        """Put the edit on."""
        self.code.put(self.edit, self.built)

    def undo(self) -> None:
        """Take the edit off."""
        self.code.take(self.edit)


def prepare(change: Edit, context: Context) -> PreparedEdit:
    """
    Resolve the function, and build it with the edit.

    Raises:
        TargetError: there is no function with a source of its own, it is only inherited or
            replaced, `old` does not occur `count` times or is `new`, or the edited text does not
            compile.

    """
    assert context.module is not None
    words = f"Edit({change.target!r})"
    if change.old.strip() == change.new.strip():
        raise TargetError(
            f"{words}: found new={change.new!r}, the same as old, expected other code"
        )
    try:
        function = function_at(context.module, change.place.qualname, context.sites)
        sites = context.sites.noted(CodeSites)
        code = sites.at(function)
        code.forget_in(caches_at(context.module, change.place.qualname, context.sites))
    except TargetError as error:
        raise TargetError(f"{words}: {error}") from error
    edit = CodeEdit(words, TextEdit(change.old, change.new, change.count), context.rank)
    return PreparedEdit(code, edit, code.prepare(edit))


_BUILT_IN_FIELDS = (MemberDescriptorType, GetSetDescriptorType)
"""What `property.fset` and `partial.func` are in their types."""
_CACHED: Any = type(functools.lru_cache(int))


def function_at(module: ModuleType, qualname: str, sites: Sites) -> FunctionType:
    """
    Find the function of a target, beneath the patches that lie on it.

    Raises:
        TargetError: it is not there, inherited, imported, replaced by a patch, or no Python
            function.

    """
    locate(module, qualname)  # tells in full where nothing is
    function = innermost(_value_at(module, qualname, sites))
    if not isinstance(function, FunctionType):
        raise TargetError(f"found {function!r}, expected a function or method written in Python")
    _refuse_imported(module, function)
    return function


def caches_at(module: ModuleType, qualname: str, sites: Sites) -> list[Any]:
    """Find the caches that keep a function's answers: around it, and under names of its module."""
    *around, function = _layers(_value_at(module, qualname, sites))
    named = [cache for cache in list(function.__globals__.values()) if type(cache) is _CACHED]
    around += [cache for cache in named if innermost(cache) is function]
    return [cache for cache in around if callable(getattr(cache, "cache_clear", None))]


def _value_at(module: ModuleType, qualname: str, sites: Sites) -> Any:
    value: Any = module
    for step in steps_of(qualname):
        value = _step(value, step, sites)
    return value


def innermost(value: Any) -> Any:
    """Follow descriptors, partial and cached functions and decorators to what they are around."""
    return _layers(value)[-1]


def _layers(value: Any) -> list[Any]:
    layers = [value]
    while (inner := _inside(layers[-1])) is not None and all(
        inner is not layer for layer in layers
    ):
        layers.append(inner)
    return layers


def _inside(value: Any) -> Any:
    if isinstance(value, type):
        return None
    if isinstance(value, (staticmethod, classmethod, MethodType)):
        return value.__func__
    if isinstance(value, property):
        return value.fget
    if isinstance(
        value,
        (
            functools.cached_property,
            functools.partial,
            functools.partialmethod,
            functools.singledispatchmethod,
        ),
    ):
        return value.func
    return getattr(value, "__wrapped__", None) if callable(value) else None


def _step(owner: Any, step: Step, sites: Sites) -> Any:
    """Go one step, past what patches have put there."""
    if isinstance(step, str):
        _refuse_inherited(owner, step)
    if sites.holds(owner, step):
        return _original(next(site for site in sites if site.owner is owner and site.name == step))
    value = read(owner, step)
    if isinstance(owner, (type, ModuleType)) or isinstance(step, Item) or has_own(owner, step):
        return value
    return getattr(owner, step)


def _original(site: Site) -> Any:
    replaced = [layer.patch for layer in site.layers if layer.base]
    if replaced and not isinstance(site.original, type):
        raise TargetError(
            f"{site.words} is replaced by patch {', '.join(replaced)}, so that an edit of the "
            "original has no effect"
        )
    return site.original


def _refuse_imported(module: ModuleType, function: FunctionType) -> None:
    home = function.__globals__.get("__name__")
    if home == module.__name__ or "<locals>" in function.__qualname__:  # made for this module
        return
    own = f"{home}:{function.__qualname__}"
    raise TargetError(
        f"it is only imported from {own}, and an edit is one for all that import it; expected {own}"
    )


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
