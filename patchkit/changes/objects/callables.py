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

from patchkit.changes.objects.facades import Facade, shared
from patchkit.changes.objects.shapes import around_function, around_method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.changes.objects.shapes import By
    from patchkit.changes.sites import Site, Sites

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


class Implementations(Facade):
    """
    The implementations of a dispatcher by the class that they are for.

    Args:
        dispatcher: the function that `functools.singledispatch` returned.

    """

    def __init__(self, dispatcher: Any) -> None:
        super().__init__(dispatcher.registry, f"{dispatcher.__name__}.registry")
        self._register = dispatcher.register

    def __getitem__(self, kind: type) -> Any:
        return self.thing[kind]

    def __setitem__(self, kind: type, function: Any) -> None:
        self._register(kind, function)


def implementations(sites: Sites, dispatcher: Any) -> Implementations:
    """Return a dispatcher's implementations as changes share them."""
    return shared(sites, Implementations(dispatcher))


def follow_registrations(site: Site, sites: Sites) -> None:
    """Have dispatchers of the function's own module that it is registered with go with a site."""
    if not isinstance(site.original, FunctionType):
        return
    for dispatcher in _dispatchers(site.original):
        facade = implementations(sites, dispatcher)
        for kind, function in dispatcher.registry.items():
            place = facade.at(kind)
            known = any(owner is facade and step == place.name for owner, step in site.aliases)
            if function is site.original and not known:
                site.aliases.append((facade, place.name))


def _dispatchers(function: FunctionType) -> Iterator[Any]:
    # A dict of the module, which other threads may be filling: copied in one go.
    for value in list(function.__globals__.values()):
        if is_dispatcher(value):
            yield value
