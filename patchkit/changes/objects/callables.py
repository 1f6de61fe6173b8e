"""
Callables that are more than a function: what their callers use beside the call goes on working.

Caches are cleared and asked, dispatchers take registrations; `functools.partial` says what it is
of. All of them become plain functions with these attributes when they are wrapped, which
torch.compile traces and pickle finds by name.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any

from patchkit.changes.objects.shapes import around_function, around_method

if TYPE_CHECKING:
    from patchkit.changes.objects.shapes import By

_CACHED = type(functools.lru_cache(int))
_KEPT: dict[type, tuple[str, ...]] = {
    _CACHED: ("cache_info", "cache_clear", "cache_parameters"),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.singledispatchmethod: ("dispatcher", "func", "register"),
}
# Where `inspect.signature` looks for the arguments that a partialmethod fills in.
_PARTIAL = ("_partialmethod", "__partialmethod__")


def is_known(value: Any) -> bool:
    """Whether a plain function can stand for this callable that is none."""
    return isinstance(value, tuple(_KEPT))


def around_known(value: Any, by: By, *, in_class: bool) -> Any:
    """
    Return a function around one of them, with what its callers use; a descriptor in a class.

    Args:
        value: the callable.
        by: the wrapper.
        in_class: it is stored in a class, where functions bind.

    """
    function = _around(value, by, in_class=in_class)
    for name in _kept(value):
        setattr(function, name, getattr(value, name))
    if isinstance(value, functools.partialmethod):
        functools.update_wrapper(function, value.func, updated=())
        del function.__wrapped__
        for name in _PARTIAL:
            setattr(function, name, value)
    return staticmethod(function) if in_class and not _binds(value) else function


def _around(value: Any, by: By, *, in_class: bool) -> Any:
    return around_method(value, by) if in_class and _binds(value) else around_function(value, by)


def _binds(value: Any) -> bool:
    if isinstance(value, functools.partial):  # that of Python 3.13 has a `__get__` that only warns
        return sys.version_info >= (3, 14)
    return hasattr(type(value), "__get__")


def _kept(value: Any) -> tuple[str, ...]:
    return next(names for kind, names in _KEPT.items() if isinstance(value, kind))


# -- functools.singledispatch ---------------------------------------------------------------------


def is_dispatcher(value: Any) -> bool:
    """Whether this is what `functools.singledispatch` returned, or a wrapper of it."""
    registry = getattr(value, "registry", None) if isinstance(value, FunctionType) else None
    return isinstance(registry, MappingProxyType) and hasattr(value, "dispatch")
