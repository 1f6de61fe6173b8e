"""Prepares Replace and Add: the target becomes the body's object, also where there is nothing yet.

Most targets are one attribute or item. Where upstream reads something else (a kernel's launcher,
torch's dispatcher), that is where the object goes.
"""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, isgeneratorfunction
from types import FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.rows.declaration import Add, Replace
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.objects.kernels import operator_at, refuse_registered
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
from patchkit.runtime.changes.sites import Sites

_Decorate = Callable[[Any, FunctionType], Any]
"""Makes of the original and of the body's plain function what is stored."""


def prepare(change: Replace | Add, context: Context) -> PreparedLayers:
    """Resolve a target, and check that the body's object can serve in its place.

    Args:
        change: What the row declares.
        context: Where the change works; the target's module has been imported.

    Returns:
        The layers that only have to be put on.

    Raises:
        TargetError: The target, or the body's object, is not there or does not fit.
    """
    if isinstance(change, Add):
        return _prepare_add(change, context)
    return _prepare_replace(change, context)


def _prepare_replace(change: Replace, context: Context) -> PreparedLayers:
    assert context.module is not None
    label = f"Replace({change.target!r})"
    qualname = change.place.qualname
    location = locate_free(context.module, qualname)
    old = location.value
    new = _body_object(context, change.by)
    operator = operator_at(location, context.sites)
    # One operator for another.
    is_of_kind = old is not MISSING and isinstance(new, type(old))
    if operator is not None and not is_of_kind:
        if not callable(new):
            raise TargetError(f"{label}: found {new!r}, expected a function")
        return _prepared_layers(operator.locations, new, context)
    if old is MISSING:
        locate(context.module, qualname)  # raises, and says what is near
    refuse_registered(old, label)
    refuse_members_and_slots(location, new, label)
    if not change.unrelated:
        refuse_unrelated(label, old, new)
        refuse_other_kind(label, change.by, old, new)
        _refuse_recursion(label, location, new)
    beneath = _beneath(location, context.sites)
    value = _substitute(beneath, new, unrelated=change.unrelated)
    if not change.unrelated:
        _refuse_call(label, change.by, _replaced(location, context.sites), value)
    refuse_fixed(location, label)
    return _prepared(label, location, value, context)


def _beneath(location: Location, sites: Sites) -> Location:
    """Return a location as it is without patches, which decides what a function stands for."""
    site = sites.get(location.owner, location.name)
    if site is None or not site.layers or site.original is MISSING:
        return location
    return location._replace(value=site.original, own=site.own)


def _replaced(location: Location, sites: Sites) -> Any:
    """Return what a Replace takes the place of: it lies below what wraps and decorates."""
    site = sites.get(location.owner, location.name)
    if site is None or not site.layers:
        return location.value
    value = site.original
    for layer in site.layers:
        if layer.base:
            value = layer.value
    return value


def _body_object(context: Context, name: str) -> Any:
    """Find the body's object; in a class as it is stored, so a static method is one."""
    bound = context.object_named(name)
    outer, _, last = name.rpartition(".")
    if not outer:
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
    """Prepare to put the same object in some locations."""
    parts = []
    for location in locations:
        site = context.sites.at(location)
        parts.append((site, context.layer(lambda _: value, base=True)))
    return PreparedLayers(parts)


def _prepared(
    label: str, location: Location, value: Any, context: Context
) -> PreparedLayers:
    """Prepare to put an object in a location; in a class, as if that had been written with it."""
    if not isinstance(location.owner, type):
        return _prepared_layers([location], value, context)
    from patchkit.runtime.changes.objects.creation import (  # noqa: PLC0415 - of classes only
        prepared_member,
        refuse_super,
    )

    refuse_super(location.owner, value, label)
    return prepared_member(location, value, context)


def _refuse_recursion(label: str, location: Location, new: Any) -> None:
    """Refuse a class in whose place the original's methods would find their own class no more."""
    if isinstance(location.value, type) and isinstance(location.owner, ModuleType):
        from patchkit.runtime.changes.objects.creation import refuse_recursion  # noqa: PLC0415 - of classes only

        refuse_recursion(location, new, label)


def _prepare_add(change: Add, context: Context) -> PreparedLayers:
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
    """Refuse to add what is there already, and say whose it is."""
    owner, name, value, own = location
    is_inherited = not own and not isinstance(name, Item)
    if value is MISSING:
        return
    if is_inherited and vars(object).get(str(name)) is value:
        return  # what every class and instance has is nobody's
    if name == "__hash__" and value is None:
        return  # so a class says that it has none
    whose = "upstream"
    if context.sites.holds(owner, name):
        whose = "another patch adds or changes the same, and upstream or that one"
    elif is_inherited:
        cls = _class_with(owner, str(name))
        if cls is not None:
            is_patched = context.sites.holds(cls, name)
            giver = "another patch's" if is_patched else "upstream's"
            whose = f"{giver} {cls.__module__}.{cls.__qualname__}"
    raise TargetError(
        f"{label}: {whose} has it: found {value!r:.80}; "
        "retire the patch if upstream has it now, Replace it, or let an AfterImport extend it"
    )


def _class_with(owner: Any, name: str) -> type | None:
    """Return the class from which an owner inherits an attribute."""
    kind = owner if isinstance(owner, type) else type(owner)
    for cls in kind.__mro__:
        if name in vars(cls):
            return cls
    return None


def _refuse_call(label: str, name: str, old: Any, new: Any) -> None:
    """Refuse an object of the body, by its name there, that the original's callers cannot call."""
    fault = refused_call(old, new)
    if fault is not None:
        raise TargetError(f"{label}: {name} {fault} (unrelated=True allows another)")


def _substitute(location: Location, new: Any, *, unrelated: bool = False) -> Any:
    """Return what is stored so that the body's object serves in the target's place.

    A plain function takes on what the target is: a method of the same kind, a property's getter, a
    bound method, and (unless `unrelated`) a cached function, a context manager. A method gets a
    function of its own under its own name, as pickle finds a bound method by that.
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
    # The method of an instance's class.
    if not is_in_dict and isinstance(old, FunctionType):
        return MethodType(new, owner)
    return decorate(old, new)


def _substitute_in_class(location: Location, new: Any, decorate: _Decorate) -> Any:
    """Return what is stored in a class, a descriptor of the same kind as the original."""
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

    return as_in_body(name, decorate(old, method))


def _with_name_set(owner: type, name: str, value: Any) -> Any:
    """Call `__set_name__` of a descriptor, as Python does for one in a class's body."""
    set_name = getattr(type(value), "__set_name__", None)
    if set_name is None:
        return value
    if isinstance(value, functools.cached_property):
        value = copy.copy(value)  # it refuses a second name
        value.attrname = None
    set_name(value, owner, name)
    return value


def _named_function(owner: type, name: str, function: FunctionType) -> FunctionType:
    """Return a function with the name of a method: the same, or a copy that is named so."""
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
    return new


def _decorated(old: Any, new: FunctionType) -> Any:
    """Decorate as upstream did, where what its callers use comes from the decorator."""
    if isinstance(old, CACHED):
        return functools.lru_cache(**old.cache_parameters())(new)
    if isinstance(old, FunctionType) and old.__globals__ is vars(contextlib):
        if isgeneratorfunction(new):
            return contextlib.contextmanager(new)
        if isasyncgenfunction(new):
            return contextlib.asynccontextmanager(new)
    return new
