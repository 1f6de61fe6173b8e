"""What cannot be replaced, wrapped or added, and why: said before anything is changed."""

import enum
import inspect
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
from patchkit.runtime.changes.objects.kernels import has_python_kernel, loaded_torch
from patchkit.runtime.changes.owners import MISSING, Location

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
_SLOTS = (MemberDescriptorType, GetSetDescriptorType, type(vars(namedtuple("_Pair", "one"))["one"]))
"""What `__slots__`, msgspec and NamedTuple put on a class for each field."""
_SET_ITEM = (dict.__setitem__, OrderedDict.__setitem__, list.__setitem__)
_STRUCT_HOOKS = ("__new__", "__init__", "__post_init__")


def refuse_fixed(location: Location, words: str) -> None:
    """Refuse a place that nothing can be put in, and say what can be named in its stead."""
    owner, kind = location.owner, type(location.owner)
    fault = ""
    if isinstance(location.name, Item):
        if getattr(kind, "__setitem__", None) not in _SET_ITEM:
            fault = (
                f"found a {kind.__name__}, expected a dict or list, which keeps what it is given; "
                "name that behind it, Replace the whole, or let an AfterImport set the item and "
                "return what takes that back"
            )
    elif isinstance(owner, type):
        fault = _class_fault(owner, location)
    elif isinstance(owner, threading.local):
        fault = (
            "found an attribute of a threading.local, of which each thread has its own; let an "
            "AfterImport change its class, or what sets it"
        )
    elif not (isinstance(owner, ModuleType) or location.own) and (
        hasattr(type(location.value), "__set__") or not hasattr(owner, "__dict__")
    ):
        fault = (
            f"found {location.value!r} of {kind!r}, which an instance cannot have for itself; "
            "name the class"
        )
    if fault:
        raise TargetError(f"{words}: {fault}")


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


def refuse_kept(location: Location, new: Any, words: str) -> None:
    """Refuse what is not kept where it is named: an enum's member, a field in a slot."""
    owner, name = location.owner, location.name
    if isinstance(owner, enum.EnumMeta):
        # Python keeps a member in several tables, and everybody shares it.
        is_other = isinstance(name, str) and name not in owner._member_map_
        becomes_none = str(name).startswith("_") or hasattr(type(new), "__get__")
        if not (is_other and (becomes_none or location.value is not MISSING)):
            raise TargetError(
                f"{words}: found the enum {owner.__qualname__}, whose members are not changed one "
                "by one; let an AfterImport do it and return what takes it back (docs/targets.md "
                "shows how)"
            )
    is_slot = isinstance(owner, type) and isinstance(location.value, _SLOTS)
    if is_slot and not hasattr(type(new), "__set__"):
        raise TargetError(
            f"{words}: found {owner.__qualname__}.{name}, through which each instance reads a value"
            " of its own, expected a default that lies on the class; Replace the class by one that "
            "derives from it with another default"
        )


def refuse_registered(value: Any, words: str) -> None:
    """Refuse a function that an operator of torch goes on calling."""
    if isinstance(value, FunctionType) and (operator := _operator_of(value)):
        raise TargetError(
            f"{words}: found the function of the operator {operator}, which torch goes on calling;"
            f" name the operator ({value.__module__}:{operator}) or Edit the function"
        )


def _operator_of(function: FunctionType) -> str | None:
    """Name the operator that was made of a function, as far as that can be told.

    torch does not tell which function a kernel is. It is taken for one where an operator with a
    kernel from Python has its name and its arguments, and it does not call that operator itself.
    """
    torch = loaded_torch()
    if torch is None:
        return None
    plain = function.__name__.strip("_")
    ends = (f"::{plain}\n", f"::_{plain}\n", f"::{plain.removesuffix('_impl')}\n")
    every = torch.library._defs  # noqa: SLF001 - what Python has defined; torch has no other list
    text = "\n".join((*every, ""))
    if not any(end in text for end in ends):  # most are not: this takes some microseconds
        return None
    for name in sorted(name for name in text.splitlines() if f"{name}\n".endswith(ends)):
        space, _, rest = name.partition("::")
        packet, _, overload = rest.partition(".")
        packets = getattr(torch.ops, space)  # what a library defined that is gone is listed still
        operator = getattr(getattr(packets, packet, None), overload or "default", None)
        if operator is not None and _runs(operator, function):
            return f"torch.ops.{operator}".removesuffix(".default")
    return None


def _runs(overload: Any, function: FunctionType) -> bool:
    calls = {overload.namespace, overload.name().partition("::")[2]}
    if calls <= {*function.__code__.co_names} or not has_python_kernel(overload):
        return False
    arguments = tuple(inspect.signature(function).parameters)
    return arguments == tuple(part.name for part in overload._schema.arguments)  # noqa: SLF001


def refused_call(old: Any, new: Any) -> str | None:
    """Find a call that the original allows and the replacement does not; None where there is none.

    Only what cannot work is found: a call with all that the original requires, or with all that it
    takes by position or by keyword alone. Names that differ are for `patchkit check`. Both may be
    descriptors around a function; a signature that cannot be told refuses nothing.
    """
    theirs, ours = _signature(old), _signature(new)
    if theirs is None or ours is None:
        return None
    parameters = list(theirs.parameters.values())
    required = [given for given in parameters if given.default is given.empty]
    for call in (required, parameters):
        positions = [given for given in call if given.kind <= given.POSITIONAL_OR_KEYWORD]
        keywords = [given.name for given in call if given.kind is given.KEYWORD_ONLY]
        try:
            ours.bind(*positions, **dict.fromkeys(keywords))
        except TypeError as error:
            return f"takes {ours}, expected to take what callers of {theirs} pass: {error}"
    return None


def _signature(value: Any) -> inspect.Signature | None:
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if not isinstance(function, FunctionType):
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None
