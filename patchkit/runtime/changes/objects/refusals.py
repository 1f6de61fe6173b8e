"""Refuses targets that cannot be replaced, wrapped or added, before anything is changed.

A fault is the reason as text; "" or None stands for no fault.
"""

import enum
import inspect
import re
import threading
from collections import OrderedDict, namedtuple
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)
from typing import Any

from patchkit.core.rows.target import Item, is_looked_up_on_type
from patchkit.errors import TargetError
from patchkit.runtime.changes.objects.kernels import is_kernel
from patchkit.runtime.changes.owners import (
    CACHED,
    FIELDS,
    MISSING,
    Location,
    is_built,
    is_decorated,
    subclasses_with,
)

_HEAP = 1 << 9
"""CPython's flag `Py_TPFLAGS_HEAPTYPE`: the class was created at run time."""

_IMMUTABLE = 1 << 8
"""CPython's flag `Py_TPFLAGS_IMMUTABLETYPE`: the attributes of the class cannot be set."""

_TUPLE_FIELD = type(vars(namedtuple("_Single", "field"))["field"])
_SLOTS = (MemberDescriptorType, GetSetDescriptorType, _TUPLE_FIELD)
"""Types of the descriptors that `__slots__`, msgspec and NamedTuple make for each field."""

_SET_ITEM = (dict.__setitem__, OrderedDict.__setitem__, list.__setitem__)
"""The `__setitem__` of containers that store an item as it is."""

_MEMBER_HOOKS = ("__new__", "__init__", "_generate_next_value_", "_ignore_")
"""Methods and attributes of an enum that are used only while its members are created."""

_ATTRS_HOOKS = ("__attrs_pre_init__", "__attrs_post_init__")
"""Methods that attrs looks for only when it generates the `__init__` of a class."""

_LAZY_RESULT = re.compile(
    r"\b(Async)?(Awaitable|Coroutine|Future|Task|Iterator|Iterable|Generator)\b"
    r"|\b(Any|object)\b"
)
"""Matches a return annotation of a function that may return a coroutine or a generator."""

_ESCAPE = "unrelated=True allows another"
_STRUCT_HOOKS = ("__new__", "__init__", "__post_init__")
"""Methods that msgspec looks for only when a struct is created."""


def refuse_fixed(location: Location, label: str) -> None:
    """Refuse a location where nothing can be stored, or where that would have no effect.

    Args:
        location: The attribute or item to change.
        label: The start of the message: the change, as its row declares it.

    Raises:
        TargetError: It cannot be changed; the message names what can be changed instead.
    """
    fault = _fixed_fault(location)
    if fault:
        raise TargetError(f"{label}: {fault}")


def _fixed_fault(location: Location) -> str:
    """Return why nothing can be stored in a location; "" if it can."""
    owner = location.owner
    kind = type(owner)
    if isinstance(owner, enum.EnumMeta) and _is_member(owner, location):
        return _of_members(owner)
    if isinstance(location.name, Item):
        if getattr(kind, "__setitem__", None) in _SET_ITEM:
            return ""
        return (
            f"found a {kind.__name__}, expected a dict or list, which keeps what it is given; "
            "name that behind it, Replace the whole, or let an AfterImport set the item and "
            "return what takes that back"
        )
    if isinstance(owner, type):
        return _class_fault(owner, location)
    if isinstance(owner, threading.local):
        return (
            "found an attribute of a threading.local, of which each thread has its own; let an "
            "AfterImport change its class, or what sets it"
        )
    if isinstance(owner, ModuleType) or location.own:
        return ""  # it is in the owner's own `__dict__`, or will be
    if is_looked_up_on_type(str(location.name)):
        return (
            f"found {location.name} of one object of {kind!r}, which Python looks up on the class; "
            "name the class"
        )
    if hasattr(type(location.value), "__set__") or not hasattr(owner, "__dict__"):
        return (
            f"found {location.value!r} of {kind!r}, which an instance cannot have for itself; "
            "name the class"
        )
    return ""


def _class_fault(owner: type, location: Location) -> str:
    """Return why an attribute of a class cannot be changed; "" if it can."""
    flags = owner.__flags__
    # A class such as `int`, which no `class` statement made, or one in C that is marked immutable.
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
    if location.name == "__slots__":
        return "found __slots__, which Python reads only when it creates a class; Replace the class"
    # (An enum without members is one to derive from: its hooks are yet to run.)
    if location.name in _MEMBER_HOOKS and getattr(owner, "_member_map_", None):
        return (
            f"found the {location.name} of the enum {owner.__qualname__}, which ran when its "
            "members were made; let an AfterImport change these (docs/targets.md shows how)"
        )
    is_new_post_init = location.name == "__post_init__" and location.value is MISSING
    if is_new_post_init and not is_built(owner) and subclasses_with(owner, FIELDS):
        name = subclasses_with(owner, FIELDS)[0].__qualname__
        return (
            f"found no __post_init__ of {owner.__qualname__}, and {name} derives from it, whose "
            f"generated __init__ calls none; name {name}, or Wrap its __init__"
        )
    if location.name in _ATTRS_HOOKS and hasattr(owner, "__attrs_attrs__"):
        return (
            f"found {location.name} of the attrs class {owner.__qualname__}, which attrs looks for "
            "only when it makes the class; Wrap its __init__"
        )
    if location.name in _STRUCT_HOOKS and hasattr(owner, "__struct_fields__"):
        return (
            f"found the msgspec.Struct {owner.__qualname__}, which looks for its {location.name} "
            "only once, when the class is made; Edit that, or Replace the class by one that derives"
            " from it"
        )
    return ""


def refuse_members_and_slots(location: Location, new: Any, label: str) -> None:
    """Refuse attributes of a class that only stand for a value which is kept elsewhere.

    These are members of enums, and the slots of a class.

    Args:
        location: The attribute to change.
        new: The body's object to store there.
        label: The start of the message: the change, as its row declares it.

    Raises:
        TargetError: The attribute is such a member or slot.
    """
    owner = location.owner
    if isinstance(owner, enum.EnumMeta) and _is_or_becomes_member(owner, location, new):
        raise TargetError(f"{label}: {_of_members(owner)}")
    # With `__slots__ = ("x",)`, `C.x` is a descriptor, by which instances find their own `x`. Only
    # a descriptor that can set a value, too, may take its place.
    is_slot = isinstance(owner, type) and isinstance(location.value, _SLOTS)
    is_descriptor = hasattr(type(new), "__set__")
    if is_slot and not is_descriptor:
        raise TargetError(
            f"{label}: found {owner.__qualname__}.{location.name}, through which each instance "
            "reads a value of its own, expected a default that lies on the class; Replace the "
            "class by one that derives from it with another default"
        )


def _of_members(owner: enum.EnumMeta) -> str:
    """Return why a member of an enum cannot be changed."""
    return (
        f"found the enum {owner.__qualname__}, whose members are not changed one by one; let an "
        "AfterImport do it and return what takes it back (docs/targets.md shows how)"
    )


def _is_member(owner: enum.EnumMeta, location: Location) -> bool:
    """Whether an attribute of an enum, or an item such as `Color['RED']`, is a member."""
    return isinstance(location.name, Item) or location.name in owner._member_map_


def _is_or_becomes_member(owner: enum.EnumMeta, location: Location, new: Any) -> bool:
    """Whether an attribute of an enum is one of its members, or would be a new one.

    Python keeps each member in several tables of the enum, so that setting one attribute is not
    enough.
    """
    if _is_member(owner, location):
        return True
    name = str(location.name)
    if name.startswith("_") or hasattr(type(new), "__get__"):
        return False  # in the body of an enum, these make no member
    return location.value is MISSING


def refused_call(old: Any, new: Any) -> str | None:
    """Return why callers of the original cannot call the replacement.

    Two calls of the original are tried: with all required parameters, and with all parameters,
    each passed by position if possible. Other names of parameters are reported by `patchkit check`
    only.

    Args:
        old: The original, which may be a descriptor around a function.
        new: The replacement, which may be one, too.

    Returns:
        The fault, to follow the name of the replacement; None if both calls work, or if one of the
        signatures is unknown.
    """
    allowed = _signature(old)
    accepted = _signature(new)
    if allowed is None or accepted is None:
        return None
    parameters = list(allowed.parameters.values())
    required = [
        parameter for parameter in parameters if parameter.default is parameter.empty
    ]
    for passed in (required, parameters):
        error = _binding_error(accepted, passed)
        if error is not None:
            return f"takes {accepted}, expected to take what callers of {allowed} pass: {error}"
    return None


def _binding_error(
    signature: inspect.Signature, passed: list[inspect.Parameter]
) -> TypeError | None:
    """Return the error of a call with arguments for some parameters; None if the call works.

    Args:
        signature: The signature of the function that is called.
        passed: The parameters of another function; the call has an argument for each of them.
    """
    by_position = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    count = len([parameter for parameter in passed if parameter.kind in by_position])
    names = [
        parameter.name
        for parameter in passed
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    try:
        # The values of the arguments do not matter.
        signature.bind(*[None] * count, **dict.fromkeys(names))
    except TypeError as error:
        return error
    return None


def _signature(value: Any) -> inspect.Signature | None:
    """Return the signature of a function, or of the one in a method or property; else None."""
    function = _unpacked(value)
    if not isinstance(function, FunctionType):
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _unpacked(value: Any) -> Any:
    """Return the function in a method or a property; any other value as it is."""
    return getattr(value, "__func__", None) or getattr(value, "fget", None) or value


def refuse_unrelated(label: str, old: Any, new: Any, *, escape: str = _ESCAPE) -> None:
    """Refuse a replacement that cannot be used like the original.

    Args:
        label: The start of the message: the change, as its row declares it.
        old: The original.
        new: The body's object.
        escape: What allows another kind, for the message.

    Raises:
        TargetError: In place of a class, it does not derive from that; in place of a function, it
            cannot be called; in place of a kernel, it is none.
    """
    fault = ""
    # Not with `issubclass`: that fails for a Protocol, and a class may override it.
    if isinstance(old, type) and not (isinstance(new, type) and old in new.__mro__):
        whose = f"{old.__module__}.{old.__qualname__}"
        fault = f"found {new!r}, expected a class that derives from {whose}"
    elif _is_code(old):
        if not (callable(new) or _is_code(new)):
            fault = f"found {new!r}, expected something to call in place of {old!r}"
    elif is_kernel(old) and not is_kernel(new):
        fault = (
            f"found {new!r}, expected a kernel; to run a function in its place, Wrap it"
        )
    if fault:
        raise TargetError(f"{label}: {fault} ({escape})")


def _is_code(value: Any) -> bool:
    """Whether a value is a function, or a descriptor or cache around one."""
    if isinstance(value, (FunctionType, staticmethod, classmethod, property, CACHED)):
        return True
    return is_decorated(value)


def refuse_other_kind(
    label: str, name: str, old: Any, new: Any, *, escape: str = _ESCAPE
) -> None:
    """Refuse, for example, a plain function in place of a coroutine function.

    Args:
        label: The start of the message: the change, as its row declares it.
        name: The name of the new function in the body.
        old: The original, which may be a descriptor around a function.
        new: The function, which may be in a descriptor, too.
        escape: What allows another kind, for the message.

    Raises:
        TargetError: One of the two returns a coroutine, a generator or an asynchronous generator,
            and the other does not.
    """
    expected = _returned(old)
    found = _returned(new)
    if expected and found and expected != found:
        raise TargetError(
            f"{label}: {name} returns {found}, expected {expected}, as the original does "
            f"({escape})"
        )


def _returned(value: Any) -> str:
    """Return the kind of object that a call returns, in words; "" if that is unknown."""
    function = _unpacked(value)
    # With a decorator, the kind of the decorator's function counts, and that may return anything.
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return ""
    flags = function.__code__.co_flags
    # (The flag is that of a generator function decorated with `types.coroutine`.)
    if flags & inspect.CO_ITERABLE_COROUTINE or inspect.iscoroutinefunction(function):
        return "a coroutine"
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "an asynchronous generator"
    if flags & inspect.CO_GENERATOR:
        return "a generator"
    # A plain function may return a coroutine as well: if its annotation says so, or if it has to be
    # overridden.
    try:
        annotation = function.__annotations__.get("return")
    except NameError:  # Python 3.14 evaluates annotations here
        return ""
    is_abstract = getattr(function, "__isabstractmethod__", False)
    is_stub = "NotImplementedError" in function.__code__.co_names
    if is_abstract or is_stub or _LAZY_RESULT.search(str(annotation)):
        return ""
    return "its result"  # of a plain function, which returns what it computes
