"""What a body's object becomes on its way into a target's place, and places that take nothing."""

from __future__ import annotations

import contextlib
import copy
import enum
import functools
import threading
from collections import namedtuple
from inspect import isasyncgenfunction, isgeneratorfunction
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from patchkit.changes.objects.shapes import CACHED
from patchkit.changes.owners import MISSING, stored
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.changes.context import Context
from patchkit.changes.owners import Location

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
_SLOTS = (MemberDescriptorType, GetSetDescriptorType, type(vars(namedtuple("_Pair", "one"))["one"]))
"""What `__slots__`, msgspec and NamedTuple put on a class for each field."""
_STRUCT_HOOKS = ("__new__", "__init__", "__post_init__")


def body_object(context: Context, name: str) -> Any:
    """
    Find the body's object with this name; in a class as it is stored, so a static method is one.

    Raises:
        TargetError: there is none.

    """
    named = context.object_named(name)
    outer, _, last = name.rpartition(".")
    owner = context.object_named(outer) if outer else None
    value = stored(owner, last)[0] if isinstance(owner, type) else named
    return named if value is MISSING else value


def refuse_fixed(location: Location, words: str) -> None:
    """
    Refuse a place that nothing can be put in.

    Args:
        location: the place.
        words: for the message, the change and its target.

    Raises:
        TargetError: it is one; the message says what can be named in its stead.

    """
    if fault := _item_fault(location) if isinstance(location.name, Item) else _fault(location):
        raise TargetError(f"{words}: {fault}")


def refuse_kept(location: Location, new: Any, words: str) -> None:
    """
    Refuse what is not kept where it is named: a member of an enum, a field that lies in a slot.

    Args:
        location: the place.
        new: what is to be put there.
        words: for the message, the change and its target.

    Raises:
        TargetError: it is one, or the object would have to become one.

    """
    owner, name = location.owner, location.name
    if isinstance(owner, enum.EnumMeta):
        _refuse_member(location, owner, new, words)
    is_slot = isinstance(owner, type) and isinstance(location.value, _SLOTS)
    if is_slot and not hasattr(type(new), "__set__"):
        raise TargetError(
            f"{words}: found {owner.__qualname__}.{name}, through which each instance reads a value"
            " of its own, expected a default that lies on the class; Replace the class by one that "
            "derives from it with another default"
        )


def _refuse_member(location: Location, owner: enum.EnumMeta, new: Any, words: str) -> None:
    """Python keeps it in several tables, and everybody shares it."""
    name = location.name
    is_other = isinstance(name, str) and name not in owner._member_map_
    becomes_none = str(name).startswith("_") or hasattr(type(new), "__get__")
    if is_other and (becomes_none or location.value is not MISSING):
        return
    raise TargetError(
        f"{words}: found the enum {owner.__qualname__}, whose members are not changed one by one; "
        "let an AfterImport do it and return what takes it back (docs/targets.md shows how)"
    )


def _item_fault(location: Location) -> str:
    kind = type(location.owner)
    if hasattr(kind, "__setitem__"):
        return ""
    return (
        f"found a {kind.__name__}, which takes no items; name the container behind it, or "
        "Replace the whole"
    )


def _fault(location: Location) -> str:
    owner = location.owner
    if isinstance(owner, type):
        return _class_fault(owner, location)
    if isinstance(owner, threading.local):
        return (
            "found an attribute of a threading.local, of which each thread has its own; let an "
            "AfterImport change its class, or what sets it"
        )
    if isinstance(owner, ModuleType) or isinstance(location.name, Item) or location.own:
        return ""
    if hasattr(type(location.value), "__set__") or not hasattr(owner, "__dict__"):
        return (
            f"found {location.value!r} of {type(owner)!r}, which an instance cannot have for "
            "itself; name the class"
        )
    return ""


def _class_fault(owner: type, location: Location) -> str:
    flags = owner.__flags__
    if not flags & _HEAP or flags & _IMMUTABLE:
        return (
            f"found {owner!r}, a class made in C, which nobody can change; Replace the name that "
            "callers use for it"
        )
    if location.name == "__new__" and location.value is object.__new__:
        return (
            f"found no __new__ of {owner.__qualname__}; once it has had one, Python lets nobody "
            "call it with arguments, also after undo. Change its __init__, or Replace the class"
        )
    if location.name in _STRUCT_HOOKS and hasattr(owner, "__struct_fields__"):
        return (
            f"found the msgspec.Struct {owner.__qualname__}, which looks for its {location.name} "
            "only once, when the class is made; Edit that, or Replace the class by one that derives"
            " from it"
        )
    return ""


def substitute(location: Location, new: Any, *, unrelated: bool = False) -> Any:
    """
    Return what is stored so that the body's object serves in the target's place.

    A plain function takes on what the target is: a method of the same kind, a property's getter, a
    bound method, a cached function, a context manager. A method gets a function of its own under
    its own name, as pickle finds a bound method by that.

    Args:
        location: the target.
        new: the body's object.
        unrelated: leave out caches and context managers, as the target's kind is to change.

    """
    old, owner = location.value, location.owner
    decorate = _itself if unrelated else _decorated
    if isinstance(owner, type):
        return _in_class(owner, str(location.name), old, new, decorate)
    if not isinstance(new, FunctionType):
        return new
    return MethodType(new, owner) if _is_inherited_method(location) else decorate(old, new)


def _is_inherited_method(location: Location) -> bool:
    if isinstance(location.owner, ModuleType) or isinstance(location.name, Item) or location.own:
        return False
    return isinstance(location.value, FunctionType)


def _in_class(
    owner: type, name: str, old: Any, new: Any, decorate: Callable[[Any, FunctionType], Any]
) -> Any:
    if not isinstance(new, FunctionType):
        return _told_its_name(owner, name, new)
    if isinstance(old, property):
        return old.getter(new)
    if isinstance(old, functools.cached_property):
        return _told_its_name(owner, name, functools.cached_property(new))
    if isinstance(old, staticmethod):
        return staticmethod(decorate(old.__func__, new))
    own = own_function(owner, name, new)
    if isinstance(old, classmethod):
        return classmethod(decorate(old.__func__, own))
    return decorate(old, own)


def _told_its_name(owner: type, name: str, value: Any) -> Any:
    """Do what Python does for a descriptor in a class's body."""
    tell = getattr(type(value), "__set_name__", None)
    if tell is None:
        return value
    if isinstance(value, functools.cached_property):
        value = copy.copy(value)  # it refuses a second name
        value.attrname = None
    tell(value, owner, name)
    return value


def own_function(owner: type, name: str, function: FunctionType) -> FunctionType:
    """Return a function that does the same and is found at `owner.name`; itself where it can be."""
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
    twin.__qualname__, twin.__module__ = f"{owner.__qualname__}.{name}", owner.__module__
    return twin


def _itself(_old: Any, new: FunctionType) -> Any:
    return new


def _decorated(old: Any, new: FunctionType) -> Any:
    """Decorate as upstream did, where what its callers use comes from the decorator."""
    if isinstance(old, CACHED):
        return functools.lru_cache(**old.cache_parameters())(new)
    if _is_context_manager(old) and isgeneratorfunction(new):
        return contextlib.contextmanager(new)
    if _is_context_manager(old) and isasyncgenfunction(new):
        return contextlib.asynccontextmanager(new)
    return new


def _is_context_manager(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__globals__ is vars(contextlib)


def is_method(value: Any) -> bool:
    """Whether this is a bound method of a Python function."""
    return isinstance(value, MethodType) and isinstance(value.__func__, FunctionType)
