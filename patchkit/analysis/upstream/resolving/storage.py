"""Says where instances store what looks like an attribute of their class.

To replace such an attribute on the class changes nothing for instances, or only breaks them.
"""

import ast

from patchkit.analysis.upstream.resolving.classes import (
    class_effects,
)
from patchkit.analysis.upstream.resolving.field_calls import option_value
from patchkit.analysis.upstream.resolving.fields import ALWAYS_IN_SLOTS, flavour
from patchkit.analysis.upstream.resolving.syntax import dotted
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Value,
)

_STRUCT_HOOKS = ("__new__", "__init__", "__post_init__")
_MEMBER_HOOKS = ("__new__", "__init__", "_generate_next_value_")
_ATTRS_HOOKS = ("__attrs_pre_init__", "__attrs_post_init__")
_CTYPES_HOOK = "_fields_"
HOOKS = frozenset(
    {*_STRUCT_HOOKS, *_MEMBER_HOOKS, *_ATTRS_HOOKS, _CTYPES_HOOK, "__slots__"}
)
"""Names that are read only while a class of some kind, or a member of it, is created."""
VALUES = (Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT)
"""Kinds of values that may be stored in instances, though the body of the class binds them."""


def instance_storage(lookup: Lookup, owner: Value, name: str, value: Value) -> str:
    """Say where instances store what looks like an attribute of their class.

    `x: int = 1` in a dataclass leaves 1 on the class, but with `slots=True` only a slot.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        value: What the attribute was resolved to.

    Returns:
        Words for the report, such as "a member of an enum"; '' for an attribute of the class.
    """
    kind = flavour(lookup, owner)
    # To change a hook once the class is made has no effect, or none on instances that exist.
    if name in HOOKS:
        return _read_once(kind, owner, name)
    if kind == "attrs" and value.kind is Kind.FIELD:
        return "a field of an attrs class"
    if value.kind not in VALUES or not value.is_sure:
        return ""
    # `as_class_member` has said of a member that it is an instance of its enum.
    if kind == "enum" and value.instance_of is not None:
        return "a member of an enum"
    if value.kind is not Kind.FIELD:
        return ""
    if not value.on_class:
        return "a field that leaves nothing on the class"
    has_slots = option_value(class_effects(lookup, owner).options.get("slots"))
    # "a slot" is the reason of a field that `__slots__` makes, see `fields`.
    if kind in ALWAYS_IN_SLOTS or value.reason == "a slot" or has_slots:
        return "a field that instances keep in a slot"
    return ""


def _read_once(kind: str, owner: Value, name: str) -> str:
    """Say who reads a name only while the class, or a member, is created; '' for any other name.

    Args:
        kind: The flavour of the class, as `fields.flavour` has it.
        owner: The class.
        name: The name, one of `HOOKS`.
    """
    if name == "__slots__":
        return "which Python reads only once"
    if kind == "ctypes" and name == _CTYPES_HOOK:
        return "which ctypes reads only once"
    if kind == "struct" and name in _STRUCT_HOOKS:
        return "a hook that msgspec looks for only once"
    if kind == "attrs" and name in _ATTRS_HOOKS:
        return "a hook that attrs looks for only once"
    if kind == "enum" and name in _MEMBER_HOOKS and _has_members(owner):
        return "which ran when the members of an enum were made"
    return ""


def _has_members(enum: Value) -> bool:
    """Whether the body of an enum assigns a name that makes a member."""
    for statement in enum.class_statement.body:
        if isinstance(statement, ast.Assign):
            names = [dotted(target) for target in statement.targets]
            if any(name and not name.startswith("_") for name in names):
                return True
    return False
