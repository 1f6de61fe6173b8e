"""
Plain functions that run another around a callable, in the shape of what they stand for.

A coroutine function stays one for `inspect.iscoroutinefunction`, a generator function stays one,
and the signature follows through `__wrapped__`.
"""

from __future__ import annotations

import functools
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    By = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]


CACHED: Any = type(functools.lru_cache(int))
"""What `lru_cache` and `cache` make."""


class _NOBODY:
    """Stands for a first argument that was not given."""


def around_function(function: Callable[..., Any], by: By) -> FunctionType:
    """Return a function that calls `by(function, None, args, kwargs)`."""

    def plain(*args: Any, **kwargs: Any) -> Any:
        return by(function, None, args, kwargs)

    return _in_shape(function, plain)


def around_method(function: Any, by: By) -> FunctionType:
    """
    Return a function that calls `by(bound, instance, args, kwargs)`.

    The first argument, the instance or the class, is bound and handed over apart. What is called
    through its class like a plain function, with no first argument or with None, gets no instance.

    Args:
        function: a function, or another descriptor that binds to something to call.
        by: the wrapper.

    """
    # Not MethodType(function, self): torch.compile cannot trace that, and it takes longer.
    bind = function.__get__

    def plain(self: Any = _NOBODY, /, *args: Any, **kwargs: Any) -> Any:
        if self is None or self is _NOBODY:
            return by(function, None, args if self is _NOBODY else (None, *args), kwargs)
        return by(bind(self), self, args, kwargs)

    return _in_shape(function, plain)


def around_bound(method: MethodType, by: By) -> MethodType:
    """Return a method of the same instance that calls `by(method, instance, args, kwargs)`."""
    return MethodType(around_method(method.__func__, by), method.__self__)


def around_cache(cache: Any, by: By, *, in_class: bool) -> FunctionType:
    """Return a function around what `lru_cache` made, which is asked and cleared through it."""
    function = (around_method if in_class else around_function)(cache, by)
    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(function, name, getattr(cache, name))
    return function


def _in_shape(function: Any, plain: Callable[..., Any]) -> FunctionType:
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    shaped = plain
    if flags & CO_COROUTINE:
        shaped = _coroutine(plain)
    elif flags & CO_GENERATOR:
        shaped = _generator(plain)
    elif flags & CO_ASYNC_GENERATOR:
        shaped = _async_generator(plain)
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
