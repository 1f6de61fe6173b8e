"""Wrap: the body's function runs around the target.

The result is a plain function wherever the target can be one: torch.compile traces a
`wrapt.FunctionWrapper` as the unwrapped original, and pickle refuses it. wrapt serves only what
no function can stand for (builtins, callable instances).

A wrapper has the shape of what it stands for: a coroutine function stays one for
`inspect.iscoroutinefunction`, a generator function stays one, and the signature follows through
`__wrapped__`.
"""

import dataclasses
import functools
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

from patchkit.core.rows.declaration import Wrap
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, Prepared, PreparedLayers
from patchkit.runtime.changes.objects.kernels import is_kernel, launch, operator_at
from patchkit.runtime.changes.objects.refusals import refuse_fixed, refuse_registered, refused_call
from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    Location,
    is_decorated,
    locate,
    locate_free,
)
from patchkit.runtime.changes.sites import Site

By = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


class _NOBODY:
    """Stands for a first argument that was not given."""


def _convention(wrapped: Any, instance: Any, args: Any, kwargs: Any, /) -> Any:
    """What a wrapper is called like."""


def prepare(change: Wrap, context: Context) -> Prepared:
    """Resolve a target and try the wrapper on it."""
    assert context.module is not None
    words = f"Wrap({change.target!r})"
    location = locate_free(context.module, change.place.qualname)
    by: Any = context.object_named(change.by)
    if not callable(by):
        raise TargetError(f"{words}: found {by!r}, expected a function")
    if fault := refused_call(_convention, by):
        raise TargetError(f"{words}: {change.by} {fault}")
    if op := operator_at(location, context.sites):
        if op.wrap_fault:
            raise TargetError(f"{words}: {op.wrap_fault}")
        return wrapped_at(op.locations, by, context, words)
    if location.value is MISSING:
        locate(context.module, change.place.qualname)  # raises, and says what is near
    refuse_registered(location.value, words)
    if is_kernel(location.value):
        location = launch(location.value)
    refuse_fixed(location, words)
    return wrapped_at([location], by, context, words)


def wrapped_at(places: Iterable[Location], by: By, context: Context, words: str) -> PreparedLayers:
    """Prepare a wrapper around what each of some locations holds; `words` begin the error."""
    parts = []
    for location in places:
        owner, site = location.owner, context.sites.at(location)
        is_item = isinstance(location.name, Item)
        if is_item or site.own or isinstance(owner, (type, ModuleType)):
            make = functools.partial(_wrapper, by=by, in_class=isinstance(owner, type))
        else:
            make = functools.partial(_instance_wrapper, by=by, site=site)
        try:
            make(location.value)
        except TypeError as error:
            raise TargetError(f"{words}: {error}") from error
        parts.append((site, context.layer(make)))
    return PreparedLayers(parts)


def _wrapper(value: Any, *, by: By, in_class: bool) -> Any:
    if isinstance(value, staticmethod):
        return staticmethod(_function(value.__func__, by))
    if isinstance(value, classmethod):
        return classmethod(_method(value.__func__, by))
    if isinstance(value, property):
        if value.fget is None:
            raise TypeError("found a property without a getter, expected one with")
        return value.getter(_method(value.fget, by))
    if isinstance(value, functools.cached_property):
        new = functools.cached_property(_method(value.func, by))
        new.attrname = value.attrname
        return new
    if isinstance(value, type):
        raise TypeError(
            f"found the class {value.__name__}, expected a function or method; wrap its "
            "__init__ or __new__, or use Replace"
        )
    if is_decorated(value):
        inner: Any = value
        wrapped = _wrapper(inner.wrapped, by=by, in_class=in_class)
        return dataclasses.replace(inner, wrapped=wrapped)
    return (_method if in_class else _function)(value, by)


def _instance_wrapper(value: Any, *, by: By, site: Site) -> Any:
    """Python binds nothing that lies in an instance's own dict, so that is done here."""
    if value is not site.original or not hasattr(value, "__get__"):
        return _function(value, by)
    if hasattr(value, "__set__"):
        raise TypeError(f"found {value!r} of the instance's class, expected a method")
    return _function(value.__get__(site.owner, type(site.owner)), by)


def _function(function: Any, by: By) -> Any:
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return MethodType(around_method(function.__func__, by), function.__self__)
    return _around(function, by, around_function)


def _method(function: Any, by: By) -> Any:
    return _around(function, by, around_method)


def _around(value: Any, by: By, around: Callable[[Any, By], FunctionType]) -> Any:
    if isinstance(value, FunctionType):
        return around(value, by)
    if isinstance(value, CACHED):
        function = around(value, by)
        for name in ("cache_info", "cache_clear", "cache_parameters"):
            setattr(function, name, getattr(value, name))
        return function
    if not callable(value):
        raise TypeError(f"found {value!r}, expected something to call")
    try:
        from wrapt import FunctionWrapper  # noqa: PLC0415 - an extra that few need
    except ImportError as error:
        what = f"found {value!r}, which is no Python function"
        raise TypeError(f"{what}; to wrap it, install vllm-patchkit[wrapt]") from error
    return FunctionWrapper(value, by)


def around_function(function: Callable[..., Any], by: By) -> FunctionType:
    """Return a function that calls `by(function, None, args, kwargs)`."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        return by(function, None, args, kwargs)

    return _in_shape(function, plain)


def around_method(function: Any, by: By) -> FunctionType:
    """Return a function that calls `by(bound, instance, args, kwargs)`.

    The first argument, the instance or the class, is bound and handed over apart. What is called
    through its class like a plain function, with no first argument or with None, gets no instance.
    """
    # Not MethodType(function, self): torch.compile cannot trace that, and it takes longer.
    bind = function.__get__

    def plain(self: Any = _NOBODY, /, *args: Any, **kwargs: Any) -> Any:
        if self is None or self is _NOBODY:
            return by(function, None, args if self is _NOBODY else (None, *args), kwargs)
        return by(bind(self), self, args, kwargs)

    return _in_shape(function, plain)


def _in_shape(function: Any, plain: Callable[..., Any]) -> FunctionType:
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    shaped = plain
    if flags & CO_COROUTINE:
        shaped = _coroutine(plain)
    elif flags & CO_GENERATOR:
        shaped = _generator(plain)
    elif flags & CO_ASYNC_GENERATOR:
        shaped = _async_generator(plain)
    shaped.__code__ = shaped.__code__.replace()  # its own, so that its calls can be told apart
    return cast("FunctionType", functools.update_wrapper(shaped, function))


def _coroutine(plain: Callable[..., Any]) -> Callable[..., Any]:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        return await result if hasattr(result, "__await__") else result

    return coroutine


def _generator(plain: Callable[..., Any]) -> Callable[..., Any]:
    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from plain(*args, **kwargs))

    return generator


def _async_generator(plain: Callable[..., Any]) -> Callable[..., Any]:
    async def generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = plain(*args, **kwargs)
        step = inner.asend(None)
        try:
            while True:
                value = await step
                try:
                    step = inner.asend((yield value))
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown in; the inner one's to see
                    step = inner.athrow(error)
        except StopAsyncIteration:
            return
        finally:
            await inner.aclose()

    return generator
