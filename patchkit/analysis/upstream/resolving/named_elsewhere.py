"""Recognises targets that name an attribute where it can be read, and cannot be changed.

A class answers for the attributes of its metaclass, and an object for the properties of its class.
"""

import ast

from patchkit.analysis.upstream.resolving.metaclasses import is_of_metaclass
from patchkit.analysis.upstream.resolving.values import (
    METHODS,
    Kind,
    Lookup,
    Value,
    Values,
)
from patchkit.core.rows.target import Item, TargetStep

OF_METACLASS = "an attribute of its metaclass"
OF_CLASS = "which Python looks up on the class of an object"
OF_TUPLE = "an item of a tuple"
OF_OBJECT = "the one that every object has"
_LOOKED_UP_ON_CLASS = frozenset(
    {
        "__aenter__",
        "__aexit__",
        "__aiter__",
        "__anext__",
        "__await__",
        "__bool__",
        "__call__",
        "__contains__",
        "__del__",
        "__delattr__",
        "__delitem__",
        "__enter__",
        "__eq__",
        "__exit__",
        "__getattr__",
        "__getattribute__",
        "__getitem__",
        "__hash__",
        "__init__",
        "__iter__",
        "__len__",
        "__lt__",
        "__next__",
        "__repr__",
        "__setattr__",
        "__setitem__",
        "__str__",
    }
)
"""Methods that Python does not look for in the object itself."""


def named_elsewhere(
    lookup: Lookup, holders: Values, step: TargetStep, members: Values
) -> str:
    """Say where an attribute or an item really is, if it cannot be changed where it is named.

    Args:
        lookup: The release.
        holders: What the target without its last step may be.
        step: The last step.
        members: What the target may be.

    Returns:
        Words for the report; '' if it can be changed, or if what it is depends on conditions.
    """
    if len(holders) != 1 or len(members) != 1:
        return ""
    (holder,) = holders
    (member,) = members
    if isinstance(step, Item):
        if isinstance(holder.expression, ast.Tuple):
            return OF_TUPLE
        return ""
    if holder.instance_of is not None:
        return _of_object(member, step)
    if not holder.has_class_statement:
        return ""
    if is_of_metaclass(lookup, holder, member):
        return OF_METACLASS
    if member.dotted == "builtins.object.__new__":
        return OF_OBJECT
    return ""


def _of_object(member: Value, name: str) -> str:
    """Say that an attribute of one object is on its class; '' if the object may have its own."""
    if member.kind is Kind.PROPERTY:
        return OF_CLASS
    if member.kind in METHODS and name in _LOOKED_UP_ON_CLASS:
        return OF_CLASS
    return ""
