"""Prepares Replace and Add: the target becomes the body's object.

Most targets are one attribute or item. For an operator of torch, the object goes into torch's
dispatcher, since upstream does not call it by the name.
"""

import contextlib
import copy
import functools
import sys
from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, isgeneratorfunction
from types import FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.rows.declaration import Add, Replace
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.objects.kernels import operator_at
from patchkit.runtime.changes.objects.refusals import (
    refuse_fixed,
    refuse_members_and_slots,
    refuse_other_kind,
    refuse_unrelated,
    refused_call,
)
from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    Location,
    locate,
    locate_free,
    read,
)
from patchkit.runtime.changes.site import Site

_Decorate = Callable[[Any, FunctionType], Any]
"""A function of the original and the body's plain function that returns the value to store."""


def prepare(change: Replace | Add, context: Context) -> PreparedLayers:
    """Find the target and the body's object, and check that the object can take its place.

    Args:
        change: The change, as its row declares it.
        context: What it is prepared with; the target's module has been imported.

    Returns:
        The layers, to be applied.

    Raises:
        TargetError: The target or the body's object is missing, or the object cannot be used there.
    """
    if isinstance(change, Add):
        return _prepare_add(change, context)
    return _prepare_replace(change, context)


def _prepare_replace(change: Replace, context: Context) -> PreparedLayers:
    """Prepare a Replace; see `prepare`."""
    assert context.module is not None
    label = f"Replace({change.target!r})"
    qualname = change.place.qualname
    location = locate_free(context.module, qualname)
    old = location.value
    new = _body_object(context, change.by)
    operator = None
    if "torch" in sys.modules:  # without it, there are no operators
        operator = operator_at(location, context.sites, label)
    # If the body's object is an operator, too, it is stored under the target's name as any object.
    is_of_kind = old is not MISSING and isinstance(new, type(old))
    if operator is not None and not is_of_kind:
        if not callable(new):
            raise TargetError(f"{label}: found {new!r}, expected a function")
        return _prepared_layers(operator.locations, new, context)
    if old is MISSING:
        locate(context.module, qualname)  # raises an error with similar names
    refuse_members_and_slots(location, new, label)
    if not change.unrelated:
        refuse_unrelated(label, old, new)
        refuse_other_kind(label, change.by, old, new)
        _refuse_recursion(label, location, new)
    # A function becomes what the original is, such as a static method. But callers have to be able
    # to call it like what it takes the place of, which may be from another patch.
    site = context.sites.get(location.owner, location.name)
    beneath = location
    replaced = old
    if site is not None and site.layers:
        beneath = _beneath(location, site)
        replaced = _replaced(site)
    value = _substitute(beneath, new, unrelated=change.unrelated)
    if not change.unrelated:
        _refuse_call(label, change.by, replaced, value)
    refuse_fixed(location, label)
    return _prepared(label, location, value, context)


def _beneath(location: Location, site: Site) -> Location:
    """Return a location with its value beneath all patches, of which its site has some."""
    if site.original is MISSING:
        return location
    return location._replace(value=site.original, own=site.own)


def _replaced(site: Site) -> Any:
    """Return the value that a Replace takes the place of, below what wraps and decorates it."""
    value = site.original
    for layer in site.layers:  # the innermost first: the last replacement counts
        if layer.base:
            value = layer.value
    return value


def _body_object(context: Context, name: str) -> Any:
    """Return the body's object of a name as it is stored: a static method of a class stays one.

    Args:
        context: What the change is prepared with.
        name: The name, as `function` or `Class.method`.
    """
    bound = context.object_named(name)
    outer, _, last = name.rpartition(".")
    if not outer:  # a name of the module, where nothing is bound
        return bound
    owner = context.object_named(outer)
    if not isinstance(owner, type):
        return bound
    stored = read(owner, last)
    if stored is MISSING:
        return bound
    return stored


def _prepared_layers(
    locations: Iterable[Location], value: Any, context: Context
) -> PreparedLayers:
    """Prepare to store the same object in some locations."""
    parts = []
    for location in locations:
        site = context.sites.at(location)
        parts.append((site, context.layer(lambda _: value, base=True)))
    return PreparedLayers(parts)


def _prepared(
    label: str, location: Location, value: Any, context: Context
) -> PreparedLayers:
    """Prepare to store an object in a location.

    In a class, this includes what Python would have done if the class had been created with it.
    """
    if not isinstance(location.owner, type):
        return _prepared_layers([location], value, context)
    from patchkit.runtime.changes.objects.creation import (  # noqa: PLC0415 - of classes only
        prepared_member,
        refuse_super,
    )

    refuse_super(location.owner, value, label)
    return prepared_member(location, value, context)


def _refuse_recursion(label: str, location: Location, new: Any) -> None:
    """Raise a TargetError if methods of a replaced class would call themselves; see `creation`."""
    if isinstance(location.value, type) and isinstance(location.owner, ModuleType):
        from patchkit.runtime.changes.objects.creation import refuse_recursion  # noqa: PLC0415 - of classes only

        refuse_recursion(location, new, label)


def _prepare_add(change: Add, context: Context) -> PreparedLayers:
    """Prepare an Add; see `prepare`."""
    assert context.module is not None
    label = f"Add({change.target!r})"
    location = locate_free(context.module, change.place.qualname)
    new = _body_object(context, change.by)
    _refuse_present(label, location, context)
    refuse_members_and_slots(location, new, label)
    kind = type(location.owner)
    if isinstance(location.name, Item) and not issubclass(kind, dict):
        raise TargetError(
            f"{label}: found a {kind.__name__}, expected a dict; Replace the whole, or let an "
            "AfterImport extend it and return what takes that back"
        )
    refuse_fixed(location, label)
    value = _substitute(location, new)
    return _prepared(label, location, value, context)


def _refuse_present(label: str, location: Location, context: Context) -> None:
    """Raise a TargetError if the owner of an added attribute or item has it already."""
    owner, name, value, own, _ = location
    is_inherited = not own and not isinstance(name, Item)
    if value is MISSING:
        return
    # What every class inherits from `object`; and the mark of a class whose objects have no hash.
    if (is_inherited and vars(object).get(str(name), MISSING) is value) or (
        name == "__hash__" and value is None
    ):
        return
    whose = "upstream"
    if context.sites.is_patched(owner, name):
        whose = "another patch adds or changes the same, and upstream or that one"
    elif is_inherited:
        cls = _class_with(owner, str(name))
        if cls is not None:
            is_patched = context.sites.is_patched(cls, name)
            giver = "another patch's" if is_patched else "upstream's"
            whose = f"{giver} {cls.__module__}.{cls.__qualname__}"
    raise TargetError(
        f"{label}: {whose} has it: found {value!r:.80}; "
        "retire the patch if upstream has it now, Replace it, or let an AfterImport extend it"
    )


def _class_with(owner: Any, name: str) -> type | None:
    """Return the class from which an owner inherits an attribute; None if there is none."""
    kind = owner if isinstance(owner, type) else type(owner)
    for cls in kind.__mro__:
        if name in vars(cls):
            return cls
    return None


def _refuse_call(label: str, name: str, old: Any, new: Any) -> None:
    """Raise a TargetError if callers of the original cannot call the body's object.

    Args:
        label: The start of the message.
        name: The name of the body's object.
        old: The original.
        new: The body's object.
    """
    fault = refused_call(old, new)
    if fault is not None:
        raise TargetError(f"{label}: {name} {fault} (unrelated=True allows another)")


def _substitute(location: Location, new: Any, *, unrelated: bool = False) -> Any:
    """Return the value to store so that the body's object can be used like the target.

    A plain function becomes what the target is: a static or class method, a property with that
    getter, a bound method, and (unless `unrelated`) a cached function or a context manager.

    Args:
        location: The target.
        new: The body's object.
        unrelated: Whether the row says that the object need not be like the target.
    """
    old = location.value
    owner = location.owner
    decorate: _Decorate = _undecorated if unrelated else _decorated
    if isinstance(owner, type):
        return _substitute_in_class(location, new, decorate)
    if not isinstance(new, FunctionType):
        return new
    is_in_dict = (
        isinstance(owner, ModuleType) or isinstance(location.name, Item) or location.own
    )
    # The instance gets a bound method in place of the one of its class: Python would not bind it.
    if not is_in_dict and isinstance(old, FunctionType):
        return MethodType(new, owner)
    if not is_in_dict and isinstance(old, classmethod):
        return MethodType(new, type(owner))
    return decorate(old, new)


def _substitute_in_class(location: Location, new: Any, decorate: _Decorate) -> Any:
    """Return the value to store in a class; a function becomes a descriptor like the original.

    Args:
        location: The target, an attribute of a class.
        new: The body's object.
        decorate: Decorates a function as upstream's is: `_decorated`, or `_undecorated`.
    """
    old = location.value
    owner = location.owner
    name = str(location.name)
    if not isinstance(new, FunctionType):
        return _with_name_set(owner, name, new)
    if isinstance(old, property):
        return old.getter(new)
    if isinstance(old, functools.cached_property):
        twin: Any = copy.copy(old)
        twin.func = new
        twin.__doc__ = new.__doc__
        return _with_name_set(owner, name, twin)
    if isinstance(old, staticmethod):
        return type(old)(decorate(old.__func__, new))
    method = _named_function(owner, name, new)
    if isinstance(old, classmethod):
        return type(old)(decorate(old.__func__, method))
    if isinstance(old, FunctionType):
        return decorate(old, method)
    from patchkit.runtime.changes.objects.creation import as_in_body  # noqa: PLC0415 - of classes only

    # In place of C code, or of nothing: as if it were written in the body of the class.
    return as_in_body(name, decorate(old, method))


def _with_name_set(owner: type, name: str, value: Any) -> Any:
    """Call a descriptor's `__set_name__`, as Python does when it creates a class; return it."""
    set_name = getattr(type(value), "__set_name__", None)
    if set_name is None:
        return value
    if isinstance(value, functools.cached_property):
        value = copy.copy(value)  # a cached property refuses a second name
        value.attrname = None
    set_name(value, owner, name)
    return value


def _named_function(owner: type, name: str, function: FunctionType) -> FunctionType:
    """Return a function whose `__name__` is the name of a method: itself, or a copy.

    pickle finds a bound method by the name of its function.
    """
    if function.__name__ == name:
        return function
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        name,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__annotations__ = function.__annotations__
    twin.__doc__ = function.__doc__
    vars(twin).update(vars(function))
    twin.__qualname__ = f"{owner.__qualname__}.{name}"
    twin.__module__ = owner.__module__
    return twin


def _undecorated(_old: Any, new: FunctionType) -> Any:
    """Return the body's function as it is, for `unrelated=True`."""
    return new


def _decorated(old: Any, new: FunctionType) -> Any:
    """Decorate a function as upstream's is, if callers use what the decorator adds.

    These decorators are `lru_cache` (`cache_clear()`), and `contextmanager` and its asynchronous
    form for a generator function.
    """
    if isinstance(old, CACHED):
        return functools.lru_cache(**old.cache_parameters())(new)
    # What `@contextmanager` makes of a function is a function of contextlib.
    if isinstance(old, FunctionType) and old.__globals__ is vars(contextlib):
        if isgeneratorfunction(new):
            return contextlib.contextmanager(new)
        if isasyncgenfunction(new):
            return contextlib.asynccontextmanager(new)
    return new
