"""Prepares Wrap: the body's function runs around the target.

The result is a plain function wherever the target can be one: torch.compile traces a
`wrapt.FunctionWrapper` as the unwrapped original, and pickle refuses it. wrapt serves only what
no function can stand for (builtins, callable instances).

A wrapper has the shape of what it stands for: a coroutine function stays one for
`inspect.iscoroutinefunction`, a generator function stays one, and the signature follows through
`__wrapped__`.
"""

import copy
import dataclasses
import functools
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from inspect import (
    CO_ASYNC_GENERATOR,
    CO_COROUTINE,
    CO_GENERATOR,
    CO_ITERABLE_COROUTINE,
)
from types import FunctionType, MethodType, ModuleType
from typing import Any, cast

from patchkit.core.rows.declaration import Wrap
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, Prepared, PreparedLayers
from patchkit.runtime.changes.objects.kernels import (
    is_kernel,
    keep_from_torch_script,
    launch_location,
    operator_at,
    refuse_registered,
)
from patchkit.runtime.changes.objects.refusals import refuse_fixed, refused_call
from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    Location,
    inherited,
    inside,
    is_decorated,
    locate,
    locate_free,
    namespace,
)
from patchkit.runtime.changes.site import Site

By = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]
"""A body's wrapper: it gets the wrapped callable, the instance or None, `args` and `kwargs`."""


class _NoArgument:
    """Stands for a first argument that was not given."""


def _convention(wrapped: Any, instance: Any, args: Any, kwargs: Any, /) -> Any:
    """What a wrapper is called like."""


def prepare(change: Wrap, context: Context) -> Prepared:
    """Resolve a target, and try the wrapper on it.

    Args:
        change: What the row declares.
        context: Where the change works; the target's module has been imported.

    Returns:
        The change, which only has to be made.

    Raises:
        TargetError: The target or the wrapper is not there, or one does not fit the other.
    """
    assert context.module is not None
    label = f"Wrap({change.target!r})"
    qualname = change.place.qualname
    location = locate_free(context.module, qualname)
    by: Any = context.object_named(change.by)
    if not callable(by):
        raise TargetError(f"{label}: found {by!r}, expected a function")
    fault = refused_call(_convention, by)
    if fault is not None:
        raise TargetError(f"{label}: {change.by} {fault}")
    operator = operator_at(location, context.sites)
    if operator is not None:
        if operator.wrap_fault:
            raise TargetError(f"{label}: {operator.wrap_fault}")
        return wrapped_at(operator.locations, by, context, label)
    if location.value is MISSING:
        locate(context.module, qualname)  # raises, and says what is near
    refuse_registered(location.value, label)
    if is_kernel(location.value):
        location = launch_location(location.value)
    refuse_fixed(location, label)
    return wrapped_at([location], by, context, label)


def wrapped_at(
    locations: Iterable[Location], by: By, context: Context, label: str
) -> PreparedLayers:
    """Prepare a wrapper around what each of some locations holds.

    Args:
        locations: Where the wrapper comes.
        by: The body's function.
        context: Where the change works.
        label: What the error begins with.

    Returns:
        The layers that only have to be put on.

    Raises:
        TargetError: What a location holds cannot be wrapped.
    """
    parts = []
    for location in locations:
        site = context.sites.at(location)
        make = _maker(location, site, by)
        try:
            make(location.value)
        except TypeError as error:
            raise TargetError(f"{label}: {error}") from error
        parts.append((site, context.layer(_Wrapping(make))))
    return PreparedWrappers(parts)


def _maker(location: Location, site: Site, by: By) -> Callable[[Any], Any]:
    """Return what makes the wrapper around the value of a location."""
    is_class = isinstance(location.owner, type)
    is_in_dict = site.own or isinstance(location.name, Item)
    if is_in_dict or isinstance(location.owner, ModuleType):
        return functools.partial(_wrapper, by=by, in_class=is_class)
    if is_class:
        return functools.partial(_inherited_wrapper, by=by, site=site)
    return functools.partial(_instance_wrapper, by=by, site=site)


class PreparedWrappers(PreparedLayers, frozen=False):
    """Wrappers that only have to be put on.

    Args:
        parts: The layers, each of which makes a wrapper.
    """

    def undo(self) -> None:
        """Take the wrappers off; what was written on them is found on the originals then."""
        for _, layer in self.parts:
            cast("_Wrapping", layer.make).carry_back()
        super().undo()


class _Wrapping:
    """Makes a wrapper, and makes it anew whenever something else lies below it.

    Without the patch, what somebody writes on the wrapper (`upstream.f.calls = 1`) would have been
    written on the original. So it goes there, and on each new wrapper.

    Args:
        make: Makes a wrapper around what it is given.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._function: FunctionType | None = None
        self._original: Any = None
        self._attributes: dict[str, Any] = {}

    def __call__(self, below: Any) -> Any:
        value = self._make(below)
        written = self._written()
        self._function = None
        originals = inside(below) or (below,)
        for part, original in zip(inside(value) or (value,), originals, strict=False):
            if isinstance(part, FunctionType) and part.__globals__ is globals():
                self._function = part
                self._original = original
                _write(original, written)
                _write(part, written)
                self._attributes = dict(vars(part))
        return value

    def carry_back(self) -> None:
        """Write on the original what was written on the wrapper."""
        _write(self._original, self._written())
        self._function = None

    def _written(self) -> dict[str, Any]:
        """Return the attributes of the wrapper that were changed; MISSING for those deleted."""
        if self._function is None:
            return {}
        former = self._attributes
        current = vars(self._function)
        return {
            name: current.get(name, MISSING)
            for name in (*former, *current)
            if current.get(name, MISSING) is not former.get(name, MISSING)
        }


def _write(function: Any, attributes: dict[str, Any]) -> None:
    """Set or delete attributes of a function; one in C has none."""
    present = namespace(function)
    for name, value in attributes.items():
        if value is MISSING:
            present.pop(name, None)
        else:
            present[name] = value


def _wrapper(value: Any, *, by: By, in_class: bool) -> Any:
    """Wrap what is stored: a descriptor stays one of its kind."""
    if isinstance(value, staticmethod):
        return type(value)(_wrapped_function(value.__func__, by))
    if isinstance(value, classmethod):
        return type(value)(_wrapped_callable(value.__func__, by, around_method))
    if isinstance(value, property):
        if value.fget is None:
            raise TypeError("cannot wrap a property that has no getter")
        return value.getter(_wrapped_callable(value.fget, by, around_method))
    if isinstance(value, functools.cached_property):
        new = copy.copy(value)
        new.func = _wrapped_callable(value.func, by, around_method)
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
    if in_class:
        return _wrapped_callable(value, by, around_method)
    return _wrapped_function(value, by)


def _inherited_wrapper(value: Any, *, by: By, site: Site) -> Any:
    """Wrap what a class inherits, or what other patches have made of that."""
    # torch.compile cannot trace `super().size` of a property.
    is_read = isinstance(value, (property, functools.cached_property))
    if value is inherited(site.owner, str(site.name)) and not is_read:
        from patchkit.runtime.changes.objects.inheriting import from_above  # noqa: PLC0415 - few inherit

        by = from_above(by, site)
    return _wrapper(value, by=by, in_class=True)


def _instance_wrapper(value: Any, *, by: By, site: Site) -> Any:
    """Wrap a method of an instance's class for this instance alone.

    Python binds nothing that lies in an instance's own dict, so that is done here.
    """
    if value is not site.original or not hasattr(value, "__get__"):
        return _wrapped_function(value, by)
    if hasattr(value, "__set__"):
        raise TypeError(f"found {value!r} of the instance's class, expected a method")
    return _wrapped_function(value.__get__(site.owner, type(site.owner)), by)


def _wrapped_function(function: Any, by: By) -> Any:
    """Wrap what is called without an instance; a bound method stays one."""
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return MethodType(around_method(function.__func__, by), function.__self__)
    return _wrapped_callable(function, by, around_function)


def _wrapped_callable(
    value: Any, by: By, wrap: Callable[[Any, By], FunctionType]
) -> Any:
    """Wrap a callable, by a plain function where that can stand for it."""
    if isinstance(value, FunctionType):
        return wrap(value, by)
    if isinstance(value, CACHED):
        function = wrap(value, by)
        for name in ("cache_info", "cache_clear", "cache_parameters"):
            setattr(function, name, getattr(value, name))
        return function
    if not callable(value):
        raise TypeError(f"found {value!r}, expected something to call")
    if type(value).__name__.endswith("ScriptFunction"):
        raise TypeError(
            "found a function that torch.jit has compiled, expected one of Python: compiled code "
            "would go on calling what is beneath a Wrap; Replace it"
        )
    try:
        from wrapt import FunctionWrapper  # noqa: PLC0415 - an extra that few need
    except ImportError as error:
        fault = f"found {value!r}, which is no Python function"
        raise TypeError(f"{fault}; to wrap it, install vllm-patchkit[wrapt]") from error
    return FunctionWrapper(value, by)


def around_function(function: Callable[..., Any], by: By) -> FunctionType:
    """Return a function that calls `by(function, None, args, kwargs)`.

    Args:
        function: The callable that is wrapped.
        by: The body's function.
    """

    def plain(*args: Any, **kwargs: Any) -> Any:
        return by(function, None, args, kwargs)

    return _in_shape(function, plain)


def around_method(function: Any, by: By) -> FunctionType:
    """Return a function that calls `by(bound, instance, args, kwargs)`.

    The first argument, the instance or the class, is bound and handed over apart. What is called
    through its class like a plain function, with no first argument or with None, gets no instance.

    Args:
        function: The method, as it is stored in its class.
        by: The body's function.
    """
    # Not MethodType(function, self): torch.compile cannot trace that, and it takes longer.
    bind = function.__get__

    def plain(self: Any = _NoArgument, /, *args: Any, **kwargs: Any) -> Any:
        if self is None:
            return by(function, None, (None, *args), kwargs)
        if self is _NoArgument:
            return by(function, None, args, kwargs)
        return by(bind(self), self, args, kwargs)

    return _in_shape(function, plain)


def _in_shape(function: Any, plain: Callable[..., Any]) -> FunctionType:
    """Return `plain`, called through a function of the same kind as the wrapped one."""
    code = getattr(function, "__code__", None)
    flags = getattr(code, "co_flags", 0)
    shaped = plain
    if flags & CO_COROUTINE:
        shaped = _coroutine(plain)
    elif flags & CO_GENERATOR:
        shaped = _generator(plain)
    elif flags & CO_ASYNC_GENERATOR:
        shaped = _async_generator(plain)
    # Its own, so that its calls can be told apart; awaitable if `types.coroutine` says so.
    own_flags = shaped.__code__.co_flags | (flags & CO_ITERABLE_COROUTINE)
    shaped.__code__ = shaped.__code__.replace(co_flags=own_flags)
    wrapper: Any = functools.update_wrapper(shaped, function)
    if hasattr(function, "cache_info"):
        # It leads past the cache.
        wrapper.__wrapped__ = getattr(function, "__wrapped__", function)
    keep_from_torch_script(wrapper)
    return cast("FunctionType", wrapper)


def _coroutine(plain: Callable[..., Any]) -> Callable[..., Any]:
    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        if hasattr(result, "__await__"):
            return await result
        return result

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
                    sent = yield value
                    step = inner.asend(sent)
                except GeneratorExit:
                    raise
                except BaseException as error:  # noqa: BLE001 - thrown in; the inner one's to see
                    step = inner.athrow(error)
        except StopAsyncIteration:
            return
        finally:
            await inner.aclose()

    return generator
