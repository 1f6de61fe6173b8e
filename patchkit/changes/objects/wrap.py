"""
Wrap: the body's function runs around the target.

The result is a plain function wherever the target can be one: torch.compile traces a
`wrapt.FunctionWrapper` as the unwrapped original, and pickle refuses it. wrapt serves only what
no function can stand for (builtins, callable instances).
"""

from __future__ import annotations

import dataclasses
import functools
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.built_classes import is_decorated
from patchkit.changes.objects import kernels, torch_ops
from patchkit.changes.objects.registered import refuse_registered
from patchkit.changes.objects.shapes import (
    CACHED,
    around_bound,
    around_cache,
    around_function,
    around_method,
)
from patchkit.changes.objects.signature import refused_call
from patchkit.changes.objects.substitutes import is_method, refuse_fixed
from patchkit.changes.owners import MISSING, Location, locate, locate_free
from patchkit.changes.prepared import PreparedLayers
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from patchkit.changes.context import Context, Prepared
    from patchkit.changes.sites import Site
    from patchkit.rows.declaration import Wrap


def _convention(wrapped: Any, instance: Any, args: Any, kwargs: Any, /) -> Any:
    """What a wrapper is called like."""


def prepare(change: Wrap, context: Context) -> Prepared:
    """
    Resolve a target and try the wrapper on it.

    Raises:
        TargetError: the target is not there, or nothing that can be wrapped.

    """
    assert context.module is not None
    location = locate_free(context.module, change.place.qualname)
    by = context.object_named(change.by)
    if not callable(by):
        raise TargetError(f"Wrap({change.target!r}): found {by!r}, expected a function")
    if fault := refused_call(_convention, by):
        raise TargetError(f"Wrap({change.target!r}): {change.by} {fault}")
    if op := torch_ops.op_at(location, context.sites):
        return _op(change, op, by, context)
    if location.value is MISSING:
        locate(context.module, change.place.qualname)  # raises, and says what is near
    return _plain(change, location, by, context)


def _plain(change: Wrap, location: Location, by: Any, context: Context) -> Prepared:
    words = f"Wrap({change.target!r})"
    refuse_registered(location.value, words)
    if kernels.is_kernel(location.value):
        location = kernels.launch(location.value)
    refuse_fixed(location, words)
    return wrapped_at([location], by, context, words)


def _op(change: Wrap, op: torch_ops.Op, by: Any, context: Context) -> Prepared:
    words = f"Wrap({change.target!r})"
    if op.closed:
        raise TargetError(f"{words}: {op.closed}")
    return wrapped_at(op.places, by, context, words)


def wrapped_at(places: Iterable[Location], by: Any, context: Context, words: str) -> PreparedLayers:
    """
    Prepare a wrapper around what each of some locations holds.

    Args:
        places: the locations.
        by: the wrapper.
        context: where the change works.
        words: for the error message, the change and its target.

    Raises:
        TargetError: there is nothing that can be wrapped.

    """
    parts = []
    for location in places:
        site = context.sites.at(location)
        make = _maker(site, location, by)
        try:
            make(location.value)
        except TypeError as error:
            raise TargetError(f"{words}: {error}") from error
        parts.append((site, context.layer(make)))
    return PreparedLayers(parts)


def _maker(site: Site, location: Location, by: Any) -> Callable[[Any], Any]:
    is_item = isinstance(location.name, Item)
    if not (is_item or site.own or isinstance(location.owner, (type, ModuleType))):
        return functools.partial(_instance_wrapper, by=by, site=site)
    return functools.partial(_wrapper, by=by, location=location)


def _wrapper(value: Any, *, by: Any, location: Location) -> Any:
    in_class = isinstance(location.owner, type)
    if isinstance(value, staticmethod):
        return staticmethod(_function(value.__func__, by))
    if isinstance(value, classmethod):
        return classmethod(_method(value.__func__, by))
    if isinstance(value, property):
        return _property(value, by)
    if isinstance(value, functools.cached_property):
        return _cached_property(value, by)
    if isinstance(value, type):
        raise TypeError(
            f"found the class {value.__name__}, expected a function or method; wrap its "
            "__init__ or __new__, or use Replace"
        )
    if is_decorated(value):
        return dataclasses.replace(value, wrapped=_wrapper(value.wrapped, by=by, location=location))
    return (_method if in_class else _function)(value, by)


def _instance_wrapper(value: Any, *, by: Any, site: Site) -> Any:
    """Python binds nothing that lies in an instance's own dict, so that is done here."""
    if value is not site.original or not hasattr(value, "__get__"):
        return _function(value, by)
    if hasattr(value, "__set__"):
        raise TypeError(f"found {value!r} of the instance's class, expected a method")
    return _function(value.__get__(site.owner, type(site.owner)), by)


def _function(function: Any, by: Any) -> Any:
    if isinstance(function, FunctionType):
        return around_function(function, by)
    if isinstance(function, CACHED):
        return around_cache(function, by, in_class=False)
    return around_bound(function, by) if is_method(function) else _proxy(function, by)


def _method(function: Any, by: Any) -> Any:
    if isinstance(function, FunctionType):
        return around_method(function, by)
    if isinstance(function, CACHED):
        return around_cache(function, by, in_class=True)
    return _proxy(function, by)


def _property(value: property, by: Any) -> property:
    if value.fget is None:
        raise TypeError("found a property without a getter, expected one with")
    return value.getter(_method(value.fget, by))


def _cached_property(value: Any, by: Any) -> Any:
    new = functools.cached_property(_method(value.func, by))
    new.attrname = value.attrname
    return new


def _proxy(value: Any, by: Any) -> Any:
    if not callable(value):
        raise TypeError(f"found {value!r}, expected something to call")
    try:
        from wrapt import FunctionWrapper  # noqa: PLC0415 - an extra that few need
    except ImportError as error:
        what = f"found {value!r}, which is no Python function"
        raise TypeError(f"{what}; to wrap it, install vllm-patchkit[wrapt]") from error
    return FunctionWrapper(value, by)
