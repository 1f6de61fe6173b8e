"""Refuses targets that cannot be replaced, wrapped or added, before anything is changed."""

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

from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.objects.kernels import is_kernel
from patchkit.runtime.changes.owners import (
    CACHED,
    FIELDS,
    MISSING,
    Location,
    heirs,
    is_built,
    is_decorated,
)

_HEAP = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE` of CPython: the class was made at run time."""

_IMMUTABLE = 1 << 8
"""`Py_TPFLAGS_IMMUTABLETYPE` of CPython: nobody can set its attributes."""

_TUPLE_FIELD = type(vars(namedtuple("_Single", "field"))["field"])
_SLOTS = (MemberDescriptorType, GetSetDescriptorType, _TUPLE_FIELD)
"""What `__slots__`, msgspec and NamedTuple put on a class for each field."""

_SET_ITEM = (dict.__setitem__, OrderedDict.__setitem__, list.__setitem__)
_MEMBER_HOOKS = ("__new__", "__init__", "_generate_next_value_", "_ignore_")
"""What runs, or is read, while the members of an enum are made."""

_ATTRS_HOOKS = ("__attrs_pre_init__", "__attrs_post_init__")
_LAZY_RESULT = re.compile(
    r"\b(Async)?(Awaitable|Coroutine|Future|Task|Iterator|Iterable|Generator)\b"
    r"|\b(Any|object)\b"
)
"""Found in the annotation of what may be a coroutine or a generator."""

_OF_TYPES = re.compile(
    r"__(call|init|new|del|repr|str|bytes|format|hash|bool|dir|sizeof|copy|fspath"
    r"|get|set|delete|set_name|getattr|getattribute|setattr|delattr|instancecheck|subclasscheck"
    r"|len|length_hint|getitem|setitem|delitem|missing|contains|reversed"
    r"|a?iter|a?next|a?enter|a?exit|await|lt|le|eq|ne|gt|ge"
    r"|[ir]?(add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|lshift|rshift|and|xor|or)"
    r"|neg|pos|abs|invert|complex|int|float|index|round|trunc|floor|ceil)__"
)
"""Methods that Python looks up on the type of an object, whatever the object has itself."""

_ESCAPE = "unrelated=True allows another"
_STRUCT_HOOKS = ("__new__", "__init__", "__post_init__")


def refuse_fixed(location: Location, label: str) -> None:
    """Refuse a location that nothing can be put in, and say what can be named in its stead.

    Args:
        location: Where the change would be made.
        label: The change as its row declares it, which begins the error.

    Raises:
        TargetError: Nothing can be put there, or it would have no effect.
    """
    fault = _fixed_fault(location)
    if fault:
        raise TargetError(f"{label}: {fault}")


def _fixed_fault(location: Location) -> str:
    """Say why nothing can be put in a location; "" where it can."""
    owner = location.owner
    kind = type(owner)
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
        return ""
    if _OF_TYPES.fullmatch(str(location.name)):
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
    """Say why an attribute of a class cannot be changed; "" where it can."""
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
    if location.name == "__slots__":
        return "found __slots__, which Python reads only when it creates a class; Replace the class"
    if location.name in _MEMBER_HOOKS and getattr(owner, "_member_map_", None):
        return (
            f"found the {location.name} of the enum {owner.__qualname__}, which ran when its "
            "members were made; let an AfterImport change these (docs/targets.md shows how)"
        )
    is_new_post_init = location.name == "__post_init__" and location.value is MISSING
    if is_new_post_init and not is_built(owner) and heirs(owner, FIELDS):
        name = heirs(owner, FIELDS)[0].__qualname__
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
    """Refuse what is not kept where it is named: an enum's member, a field in a slot.

    Args:
        location: Where the change would be made.
        new: The body's object, which would go there.
        label: The change as its row declares it, which begins the error.

    Raises:
        TargetError: The class does not keep that object under that name.
    """
    owner = location.owner
    name = location.name
    if isinstance(owner, enum.EnumMeta) and _is_member(owner, location, new):
        raise TargetError(
            f"{label}: found the enum {owner.__qualname__}, whose members are not changed one "
            "by one; let an AfterImport do it and return what takes it back (docs/targets.md "
            "shows how)"
        )
    is_slot = isinstance(owner, type) and isinstance(location.value, _SLOTS)
    if is_slot and not hasattr(type(new), "__set__"):
        raise TargetError(
            f"{label}: found {owner.__qualname__}.{name}, through which each instance reads a value"
            " of its own, expected a default that lies on the class; Replace the class by one that "
            "derives from it with another default"
        )


def _is_member(owner: enum.EnumMeta, location: Location, new: Any) -> bool:
    """Whether a change is one of an enum's members, or would make another member.

    Python keeps a member in several tables, and everybody shares it.
    """
    name = location.name
    if not isinstance(name, str) or name in owner._member_map_:
        return True
    if name.startswith("_") or hasattr(type(new), "__get__"):
        return False  # Python makes no member of these
    return location.value is MISSING


def refused_call(old: Any, new: Any) -> str | None:
    """Find a call that the original allows and the replacement does not.

    Only what cannot work is found: a call with all that the original requires, or with all that it
    takes by position or by keyword alone. Names that differ are for `patchkit check`.

    Args:
        old: The original, which may be a descriptor around a function.
        new: The replacement, which may be one as well.

    Returns:
        What is wrong with the call, to follow the name of the replacement; None where there is no
        such call, or where a signature cannot be told.
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
    """Return the error of a call with an argument for each of some parameters, None without one.

    Args:
        signature: That of the function that is called.
        passed: The parameters of another function, for which there are arguments.
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
        # Their values do not matter.
        signature.bind(*[None] * count, **dict.fromkeys(names))
    except TypeError as error:
        return error
    return None


def _signature(value: Any) -> inspect.Signature | None:
    """Return the signature of a function, also of one in a method or property; else None."""
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if not isinstance(function, FunctionType):
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def refuse_unrelated(label: str, old: Any, new: Any, *, escape: str = _ESCAPE) -> None:
    """Refuse an object that is of another kind than the original.

    Args:
        label: The change as its row declares it, which begins the error.
        old: The original.
        new: The body's object.
        escape: What allows another kind, for the message.

    Raises:
        TargetError: It cannot serve as the original does.
    """
    fault = ""
    # Not by `issubclass`: a Protocol forbids it, and a class may answer what it likes.
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
    """Whether this is a function, or a descriptor or cache around one."""
    if isinstance(value, (FunctionType, staticmethod, classmethod, property, CACHED)):
        return True
    return is_decorated(value)


def refuse_other_kind(
    label: str, name: str, old: Any, new: Any, *, escape: str = _ESCAPE
) -> None:
    """Refuse a function whose calls return another kind of thing: a coroutine, a generator.

    Args:
        label: The change as its row declares it, which begins the error.
        name: The body's name of the new function.
        old: The original, which may be a descriptor around a function.
        new: The function, which may be in a descriptor, too.
        escape: What allows another kind, for the message.

    Raises:
        TargetError: Callers of the original cannot use what is returned.
    """
    expected = _returned(old)
    found = _returned(new)
    if expected and found and expected != found:
        raise TargetError(
            f"{label}: {name} returns {found}, expected {expected}, as the original does "
            f"({escape})"
        )


def _returned(value: Any) -> str:
    """Say what kind of thing a call returns; "" where that cannot be told from the function."""
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        return ""
    flags = function.__code__.co_flags
    if flags & inspect.CO_ITERABLE_COROUTINE or inspect.iscoroutinefunction(function):
        return "a coroutine"
    if flags & inspect.CO_ASYNC_GENERATOR:
        return "an asynchronous generator"
    if flags & inspect.CO_GENERATOR:
        return "a generator"
    # A plain function may make any of them: one that is to be overridden, or that says so.
    try:
        annotation = function.__annotations__.get("return")
    except NameError:  # from Python 3.14 on, it is evaluated here
        return ""
    is_abstract = getattr(function, "__isabstractmethod__", False)
    is_stub = "NotImplementedError" in function.__code__.co_names
    if is_abstract or is_stub or _LAZY_RESULT.search(str(annotation)):
        return ""
    return "its result"
