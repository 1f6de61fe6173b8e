"""Tells what a present target is to a change: code, something else to call, a class, a value.

What kind of definition a target has (`Kind`) leaves this open where the definition lies outside the
release, or is an item or a computed value.
"""

import enum
import functools
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    ModuleType,
)

from patchkit.analysis.upstream.resolving.callables import can_be_called
from patchkit.analysis.upstream.resolving.machinery import (
    DATA_OF_CLASSES,
    OF_PYDANTIC_DATACLASS,
    SLOTS_OF_CLASSES,
)
from patchkit.analysis.upstream.resolving.outside import as_typing, is_listed
from patchkit.analysis.upstream.resolving.standard_library import standard_object
from patchkit.analysis.upstream.resolving.values import (
    METHODS,
    Kind,
    Lookup,
    Scope,
    Value,
)


class Nature(str, enum.Enum):
    """What a target is to a change."""

    CODE = "a function"
    """A function of Python, or a method or property of one: no value can replace it."""
    ROUTINE = "something to call"
    """Something to call, of which it is not known whether it is code."""
    OBJECT = "an object to call"
    """Something to call that is no code, such as a function made in C."""
    CLASS = "a class"
    MODULE = "a module"
    VALUE = "a value"
    SLOT = "a slot"
    """A descriptor by which each object has a value of its own."""
    UNKNOWN = ""


TO_CALL = frozenset({Nature.CODE, Nature.ROUTINE, Nature.OBJECT})
"""What a Wrap can be around."""
_CODE = METHODS | {
    Kind.ASYNC_FUNCTION,
    Kind.CACHED_FUNCTION,
    Kind.DECORATED,
    Kind.FUNCTION,
    Kind.PROPERTY,
}
_VALUES = frozenset({Kind.CONSTANT, Kind.FIELD, Kind.INSTANCE_ATTRIBUTE})
_NATURES = {
    **dict.fromkeys(_CODE, Nature.CODE),
    Kind.CACHED_PROPERTY: Nature.OBJECT,
    Kind.CLASS: Nature.CLASS,
    Kind.MODULE: Nature.MODULE,
}
"""The nature of what a definition of the release makes."""
_OF_EACH_CLASS = ("__doc__", "__module__")
_MODELS = {"typing.NamedTuple": "builtins.tuple", "typing.TypedDict": "builtins.dict"}
"""Classes that have what a function of typing makes classes of."""
_SLOTS = (MemberDescriptorType, GetSetDescriptorType)
_OF_CODE = (
    FunctionType,
    classmethod,
    property,
    staticmethod,
    type(functools.cache(len)),
)


def nature_of(lookup: Lookup, value: Value) -> Nature:
    """Return what a present value is to a change.

    Args:
        lookup: The release.
        value: The value.

    Returns:
        `UNKNOWN` where the source does not tell.
    """
    name = value.qualname.rpartition(".")[2]
    if value.kind in _NATURES:
        if value.has_class_statement and not value.is_sure:
            return Nature.UNKNOWN  # such as what an unknown decorator makes of a class
        return _NATURES[value.kind]
    if value.kind is Kind.OUTSIDE:
        return _as_sure(_outside(value), name, is_sure=value.is_sure)
    if value.kind is Kind.GENERATED:
        return _generated(value, name)
    if value.kind is Kind.ITEM:
        return _item(lookup, value)
    if value.kind not in _VALUES or not value.is_sure:
        return Nature.UNKNOWN
    is_called = can_be_called(lookup, value)
    if is_called is None:
        return Nature.UNKNOWN
    if is_called:
        return Nature.OBJECT
    return Nature.SLOT if name == "__weakref__" else Nature.VALUE


def _generated(value: Value, name: str) -> Nature:
    """Return the nature of what a decorator or a metaclass puts on a class."""
    if name in OF_PYDANTIC_DATACLASS or name in DATA_OF_CLASSES:
        return Nature.VALUE
    if name == "__init__":
        return Nature.CODE
    return Nature.ROUTINE if value.is_sure else Nature.UNKNOWN


def _item(lookup: Lookup, value: Value) -> Nature:
    """Return the nature of an item of a container, by the expression that it is spelled by."""
    if value.expression is None or not value.is_sure:
        return Nature.UNKNOWN
    scope = Scope(value.module_tree)
    natures = {
        nature_of(lookup, item) for item in lookup.evaluate(value.expression, scope)
    }
    return natures.pop() if len(natures) == 1 else Nature.UNKNOWN


def _as_sure(nature: Nature, name: str, *, is_sure: bool) -> Nature:
    """Return a nature as far as it holds where another class may have the name, too."""
    if is_sure or nature is Nature.UNKNOWN or name in DATA_OF_CLASSES:
        return nature
    return Nature.ROUTINE if nature in TO_CALL else Nature.UNKNOWN


def _outside(value: Value) -> Nature:
    """Return the nature of what lies outside the release, by its dotted name.

    Of the standard library it is looked at. Of a few classes of other packages it is known; of
    other packages, the form of a name is all there is: functions have small letters.
    """
    owner, _, name = value.dotted.rpartition(".")
    if value.is_module:
        return Nature.MODULE
    if name in _OF_EACH_CLASS:
        return Nature.VALUE  # though `type` answers for it, which keeps it in a slot
    model = _MODELS.get(as_typing(owner), "builtins.object")
    found = standard_object(value.dotted)
    if name == "__hash__" and (found is None or found.value is not None):
        # It is None, if a class that derives from this one has an `__eq__` of its own.
        return Nature.UNKNOWN
    # `typing.NamedTuple` is a function, whose attributes no named tuple has.
    if found is not None and as_typing(owner) not in _MODELS:
        return _seen(found.value)
    if not is_listed(owner):
        # What is assigned another name, as in `SMALL = torch.uint8`, is as often a value.
        is_function = name == name.lower() and not value.nodes
        return Nature.ROUTINE if is_function else Nature.UNKNOWN
    if name in SLOTS_OF_CLASSES:
        return Nature.SLOT
    if name in DATA_OF_CLASSES or _is_data_of_pydantic(name):
        return Nature.VALUE
    of_model = standard_object(f"{model}.{name}")
    if of_model is None:
        return Nature.ROUTINE if owner.startswith("msgspec.") else Nature.CODE
    nature = _seen(of_model.value)
    # The class may have a method of its own in place of that of `object`.
    return Nature.ROUTINE if nature is Nature.OBJECT else nature


def _is_data_of_pydantic(name: str) -> bool:
    """Whether an attribute that pydantic puts on its classes is no function."""
    return name.startswith("__pydantic_") and "subclass" not in name


def _seen(found: object) -> Nature:
    """Return the nature of an object of the standard library."""
    if isinstance(found, _OF_CODE):
        return Nature.CODE
    if isinstance(found, type):
        return Nature.CLASS
    if isinstance(found, ModuleType):
        return Nature.MODULE
    if isinstance(found, _SLOTS):
        return Nature.SLOT
    if callable(found) or isinstance(found, functools.cached_property):
        return Nature.OBJECT
    return Nature.VALUE
