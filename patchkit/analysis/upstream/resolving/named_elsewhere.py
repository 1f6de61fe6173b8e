"""Recognises targets that name an attribute where it can be read, and cannot be changed.

A class answers for the attributes of its metaclass, and an object for the properties of its class.
"""

import ast

from patchkit.analysis.upstream.resolving.classes import class_effects, mro
from patchkit.analysis.upstream.resolving.field_calls import option_value
from patchkit.analysis.upstream.resolving.metaclasses import is_of_metaclass
from patchkit.analysis.upstream.resolving.natures import Nature, nature_of
from patchkit.analysis.upstream.resolving.standard_library import standard_object
from patchkit.analysis.upstream.resolving.values import (
    METHODS,
    Kind,
    Lookup,
    Value,
    Values,
)
from patchkit.core.rows.target import Item, TargetStep, is_looked_up_on_type

OF_METACLASS = "an attribute of its metaclass"
OF_CLASS = "which Python looks up on the class of an object"
OF_TUPLE = "an item of a tuple"
OF_OBJECT = "the one that every object has"
OF_SLOT = "by which each object has a value of its own"
OF_FROZEN = "of an object whose class is frozen"
OF_OPERATOR = "the function of an operator, which torch goes on calling"
_FOUND_ON_CLASSES = METHODS | {Kind.GENERATED, Kind.OUTSIDE}
"""Kinds of methods that objects have from their class."""


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
        return _of_object(lookup, holder.instance_of, member, step)
    if not holder.has_class_statement:
        return ""
    # Each class has a `__module__` of its own, though `type` answers for it.
    if step != "__module__" and is_of_metaclass(lookup, holder, member):
        return OF_METACLASS
    if member.kind is not Kind.FIELD and nature_of(lookup, member) is Nature.SLOT:
        return OF_SLOT
    if member.dotted == "builtins.object.__new__":
        return OF_OBJECT
    return ""


def _of_object(lookup: Lookup, cls: Value, member: Value, name: str) -> str:
    """Say that an attribute of one object is on its class; '' if the object may have its own."""
    if member.kind is Kind.PROPERTY or nature_of(lookup, member) is Nature.SLOT:
        return OF_CLASS
    if member.kind in _FOUND_ON_CLASSES and is_looked_up_on_type(name):
        return OF_CLASS
    found = standard_object(member.dotted)
    if found and hasattr(type(found.value), "__set__"):
        return OF_CLASS  # such as a property of the standard library
    owners: Values = (cls,)
    if member.kind is Kind.FIELD and cls.has_class_statement:
        # What derives from a frozen class, and is no dataclass itself, keeps the fields of that.
        owners = mro(lookup, cls)
    for owner in owners:
        if owner.has_class_statement:
            options = class_effects(lookup, owner).options
            if option_value(options.get("frozen")):
                return OF_FROZEN
    return ""
