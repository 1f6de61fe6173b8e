"""Prepares Wrap: a function of the body is called in place of the target, and may call that.

The wrapper is a plain function wherever possible: torch.compile traces a `wrapt.FunctionWrapper`
as the unwrapped original, and pickle refuses it. wrapt is used only for objects that no function
can replace (builtins, callable instances).

A wrapper is of the same kind as its target: that of a coroutine function is one for
`inspect.iscoroutinefunction`, that of a generator function is a generator function, and
`inspect.signature` finds the target's signature through `__wrapped__`.
"""

import copy
import dataclasses
import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
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
"""A body's wrapper: a function of the wrapped callable, the instance or None, args and kwargs."""


class _NoArgument:
    """The default of a method's first parameter: the call has no argument."""


def _convention(wrapped: Any, instance: Any, args: Any, kwargs: Any, /) -> Any:
    """The signature that a body's wrapper has to accept calls of."""


def prepare(change: Wrap, context: Context) -> Prepared:
    """Find the target and the body's wrapper, and wrap once to check that it is possible.

    Args:
        change: The change, as its row declares it.
        context: What it is prepared with; the target's module has been imported.

    Returns:
        The change, to be applied.

    Raises:
        TargetError: The target or the wrapper is missing, or cannot be used with the other.
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
    operator = operator_at(location, context.sites, label)
    if operator is not None:
        if operator.wrap_fault:
            raise TargetError(f"{label}: {operator.wrap_fault}")
        return wrapped_at(operator.locations, by, context, label)
    if location.value is MISSING:
        locate(context.module, qualname)  # raises an error with similar names
    if is_kernel(location.value):
        location = launch_location(location.value)
    refuse_fixed(location, label)
    return wrapped_at([location], by, context, label)


def wrapped_at(
    locations: Iterable[Location], by: By, context: Context, label: str
) -> PreparedLayers:
    """Prepare a wrapper around the value of each of some locations.

    Args:
        locations: The locations.
        by: The body's function.
        context: What the change is prepared with.
        label: The start of an error's message.

    Returns:
        The layers, which are not put on yet.

    Raises:
        TargetError: A value cannot be wrapped.
    """
    parts = []
    for location in locations:
        site = context.sites.at(location)
        make = _maker(location, site, by)
        try:
            make(location.value)  # to see whether it can be wrapped
        except TypeError as error:
            raise TargetError(f"{label}: {error}") from error
        parts.append((site, context.layer(_Wrapping(make))))
    return PreparedWrappers(parts)


def _maker(location: Location, site: Site, by: By) -> Callable[[Any], Any]:
    """Return a function that wraps a location's value, and binds a method that no class binds."""
    is_class = isinstance(location.owner, type)
    is_in_dict = site.own or isinstance(location.name, Item)
    # The value is the owner's own; or else a class inherits it, or an object has it from its class.
    if is_in_dict or isinstance(location.owner, ModuleType):
        return functools.partial(_wrapper, by=by, in_class=is_class)
    if is_class:
        return functools.partial(_inherited_wrapper, by=by, site=site)
    return functools.partial(_instance_wrapper, by=by, site=site)


class PreparedWrappers(PreparedLayers, frozen=False):
    """Layers that are wrappers."""

    def undo(self) -> None:
        """Remove the wrappers; attributes that were set on them are copied to the originals."""
        for _, layer in self.parts:
            cast("_Wrapping", layer.make).copy_back()
        super().undo()


class _Wrapping:
    """A layer's `make`: wraps the value below, and wraps anew whenever that has changed.

    Attributes that other code sets on the wrapper (`upstream.f.calls = 1`) would be on the original
    without the patch. So they are copied to the original, and to each new wrapper.

    Args:
        make: A function that wraps a value.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._function: FunctionType | None = None
        self._original: Any = None
        self._attributes: dict[str, Any] = {}

    def __call__(self, below: Any) -> Any:
        """Wrap the value below; attributes of the former wrapper are copied to the new one."""
        value = self._make(below)
        written = self._written()
        self._function = None
        # Of a property only the getter is wrapped. A function with the globals of this module is a
        # wrapper, and what it wraps is the part of `below` in the same place.
        originals = inside(below) or (below,)
        for part, original in zip(inside(value) or (value,), originals, strict=False):
            if isinstance(part, FunctionType) and part.__globals__ is globals():
                self._function = part
                self._original = original
                _write(original, written)
                _write(part, written)
                self._attributes = dict(vars(part))
        return value

    def copy_back(self) -> None:
        """Copy the attributes that were set on the wrapper to the original."""
        _write(self._original, self._written())
        self._function = None

    def _written(self) -> dict[str, Any]:
        """Return the attributes set on the wrapper since it was made; MISSING for a deleted one."""
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
    """Set attributes of a function, or delete those that are MISSING."""
    present = namespace(function)
    for name, value in attributes.items():
        if value is MISSING:
            present.pop(name, None)
        else:
            present[name] = value


def _wrapper(value: Any, *, by: By, in_class: bool) -> Any:
    """Wrap a stored value; a descriptor stays one of its kind, with a wrapper inside.

    A function that is stored in a class is a method. A TypeError says why a value has no wrapper.
    """
    if isinstance(value, staticmethod):
        return type(value)(_wrapped_function(value.__func__, by))
    if isinstance(value, classmethod):
        return type(value)(_wrapped_callable(value.__func__, by, around_method))
    if isinstance(value, property):
        if value.fget is None:
            raise TypeError("cannot wrap a property that has no getter")
        return value.getter(_wrapped_callable(value.fget, by, around_method))
    if isinstance(value, functools.cached_property):
        twin = copy.copy(value)
        twin.func = _wrapped_callable(value.func, by, around_method)
        return twin
    if isinstance(value, type):
        raise TypeError(
            f"found the class {value.__name__}, expected a function or method; wrap its "
            "__init__ or __new__, or use Replace"
        )
    if is_decorated(value):  # a pydantic validator
        inner: Any = value
        wrapped = _wrapper(inner.wrapped, by=by, in_class=in_class)
        return dataclasses.replace(inner, wrapped=wrapped)
    if in_class:
        return _wrapped_callable(value, by, around_method)
    return _wrapped_function(value, by)


def _inherited_wrapper(value: Any, *, by: By, site: Site) -> Any:
    """Wrap an inherited member of a class; the innermost wrapper gets it by `super()`."""
    # Not for properties: torch.compile cannot trace `super().size`.
    is_read = isinstance(value, (property, functools.cached_property))
    if value is inherited(site.owner, str(site.name)) and not is_read:
        from patchkit.runtime.changes.objects.inheriting import from_above  # noqa: PLC0415 - few inherit

        by = from_above(by, site)
    return _wrapper(value, by=by, in_class=True)


def _instance_wrapper(value: Any, *, by: By, site: Site) -> Any:
    """Wrap a method for one instance, and bind it: Python binds nothing that an instance holds."""
    # A value of another patch is bound already; one without `__get__` is never bound.
    if value is not site.original or not hasattr(value, "__get__"):
        return _wrapper(value, by=by, in_class=False)
    if hasattr(value, "__set__"):
        raise TypeError(f"found {value!r} of the instance's class, expected a method")
    return _wrapped_function(value.__get__(site.owner, type(site.owner)), by)


def _wrapped_function(function: Any, by: By) -> Any:
    """Wrap a function that is called without an instance; a bound method stays a bound method."""
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return MethodType(around_method(function.__func__, by), function.__self__)
    return _wrapped_callable(function, by, around_function)


def _wrapped_callable(
    value: Any, by: By, wrap: Callable[[Any, By], FunctionType]
) -> Any:
    """Wrap a Python function with `wrap`, one of the two below; any other callable with wrapt."""
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
        from wrapt import FunctionWrapper  # noqa: PLC0415 - an optional dependency
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

    The first argument of the call is the instance (or the class), and `bound` is the method of it.
    In a call through the class without an instance (`Class.method()` or `Class.method(None)`), the
    wrapper gets `by(function, None, args, kwargs)`.

    Args:
        function: The method, as it is stored in its class.
        by: The body's function.
    """
    # `MethodType(function, self)` would be slower, and torch.compile cannot trace it.
    bind = function.__get__

    def plain(self: Any = _NoArgument, /, *args: Any, **kwargs: Any) -> Any:
        if self is None:
            return by(function, None, (None, *args), kwargs)
        if self is _NoArgument:
            return by(function, None, args, kwargs)
        return by(bind(self), self, args, kwargs)

    return _in_shape(function, plain)


def _in_shape(function: Any, plain: Callable[..., Any]) -> FunctionType:
    """Return a function that calls `plain`, with the kind, name and signature of `function`."""
    code = getattr(function, "__code__", None)
    flags = getattr(code, "co_flags", 0)
    shaped = plain
    if flags & inspect.CO_COROUTINE:
        shaped = _coroutine(plain)
    elif flags & inspect.CO_GENERATOR:
        shaped = _generator(plain)
    elif flags & inspect.CO_ASYNC_GENERATOR:
        shaped = _async_generator(plain)
    # The code gets replaced in any case: each wrapper has code of its own, so that its calls can be
    # counted. The flag is that of `types.coroutine`, which makes a generator awaitable.
    own_flags = shaped.__code__.co_flags | (flags & inspect.CO_ITERABLE_COROUTINE)
    shaped.__code__ = shaped.__code__.replace(co_flags=own_flags)
    wrapper: Any = functools.update_wrapper(shaped, function)
    if hasattr(function, "cache_info"):
        # `__wrapped__` skips the cached function: it leads to the one without the cache.
        wrapper.__wrapped__ = getattr(function, "__wrapped__", function)
    keep_from_torch_script(wrapper)
    return cast("FunctionType", wrapper)


def _coroutine(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function that calls `plain`, and awaits its result if possible."""

    async def coroutine(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        if hasattr(result, "__await__"):
            return await result
        return result

    return coroutine


def _generator(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a generator function that yields from the result of `plain`."""

    def generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from plain(*args, **kwargs))

    return generator


def _async_generator(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return an asynchronous generator function that passes everything on to what `plain` returns.

    It does by hand what `yield from` does: also what is sent or thrown into it is passed on.
    """

    async def generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = plain(*args, **kwargs)
        if not hasattr(inner, "asend"):  # an iterator that is not a generator
            async for value in inner:
                yield value
            return
        step = inner.asend(None)
        try:
            while True:
                value = await step
                try:
                    sent = yield value
                    step = inner.asend(sent)
                except GeneratorExit:
                    raise  # this generator is being closed; `finally` closes the inner one
                except BaseException as error:  # noqa: BLE001 - passed on to the inner generator
                    step = inner.athrow(error)
        except StopAsyncIteration:
            return
        finally:
            await inner.aclose()

    return generator
