"""
Wrap: the body's function runs around the target.

The result is a plain function wherever the target is one: torch.compile traces a
`wrapt.FunctionWrapper` as the unwrapped original, and pickle refuses it. wrapt serves only what
is no Python function (builtins, callable instances).
"""

from __future__ import annotations

import functools
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.layered import PreparedLayer
from patchkit.changes.resolve import Location, locate
from patchkit.changes.shapes import around_bound, around_function, around_method
from patchkit.changes.signature import refused_call
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.changes.sites import Site
    from patchkit.declaration import Wrap


def _convention(wrapped: Any, instance: Any, args: Any, kwargs: Any, /) -> Any:
    """What a wrapper is called like."""


def prepare(change: Wrap, context: Context) -> PreparedLayer:
    """
    Resolve a target and try the wrapper on it.

    Raises:
        TargetError: the target is not there, or nothing that can be wrapped.

    """
    assert context.module is not None
    location = locate(context.module, change.place.qualname)
    by = context.object_named(change.by)
    if not callable(by):
        raise TargetError(f"Wrap({change.target!r}): found {by!r}, expected a function")
    if fault := refused_call(_convention, by):
        raise TargetError(f"Wrap({change.target!r}): {change.by} {fault}")
    return wrapped_at(location, by, context, change.target)


def wrapped_at(location: Location, by: Any, context: Context, target: str) -> PreparedLayer:
    """Prepare `by` around one location; `target` is for the error message."""
    site = context.sites.at(location)
    make = functools.partial(_wrapper, by=by, in_class=isinstance(location.owner, type))
    if not isinstance(location.owner, (type, ModuleType)) and not site.own:
        make = functools.partial(_instance_wrapper, by=by, site=site)
    try:
        make(location.value)
    except TypeError as error:
        raise TargetError(f"Wrap({target!r}): {error}") from error
    return PreparedLayer(site, context.layer(make))


def _wrapper(value: Any, *, by: Any, in_class: bool) -> Any:
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
    return (_method if in_class else _function)(value, by)


def _instance_wrapper(value: Any, *, by: Any, site: Site) -> Any:
    """Python binds nothing that lies in an instance's own dict, so that is done here."""
    if value is not site.original or not hasattr(value, "__get__"):
        return _function(value, by)
    if hasattr(value, "__set__"):
        raise TypeError(f"found {value!r} of the instance's class, expected a method")
    bound = value.__get__(site.owner, type(site.owner))
    if isinstance(bound, MethodType) and isinstance(bound.__func__, FunctionType):
        return around_bound(bound, by)
    return _function(bound, by)


def _function(function: Any, by: Any) -> Any:
    return (
        around_function(function, by)
        if isinstance(function, FunctionType)
        else _proxy(function, by)
    )


def _method(function: Any, by: Any) -> Any:
    return (
        around_method(function, by) if isinstance(function, FunctionType) else _proxy(function, by)
    )


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
        found = f"found {value!r}, which is no Python function"
        raise TypeError(f"{found}; to wrap it, install vllm-patchkit[wrapt]") from error
    return FunctionWrapper(value, by)
