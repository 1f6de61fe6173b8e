"""Where instances keep what a class seems to have as an attribute."""

from patchkit.analysis.upstream.resolving.classes import (
    class_effects,
)
from patchkit.analysis.upstream.resolving.fields import (
    ALWAYS_IN_SLOTS,
    flavour,
    option_value,
)
from patchkit.analysis.upstream.resolving.values import (
    Kind,
    Lookup,
    Value,
)

HOOKS = ("__new__", "__init__", "__post_init__")
VALUES = (Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT)
"""Kinds of what a class may seem to have as an attribute, though its instances have it."""


def instance_storage(lookup: Lookup, owner: Value, name: str, value: Value) -> str:
    """Say where instances keep what a class seems to have as an attribute.

    Args:
        lookup: The release.
        owner: The class.
        name: The name of the attribute.
        value: What the attribute was resolved to.

    Returns:
        '' if it is an attribute of the class.
    """
    kind = flavour(lookup, owner)
    if name in HOOKS:
        if kind == "struct":
            return "a hook that msgspec looks for only once"
        return ""
    if kind == "attrs" and value.kind is Kind.FIELD:
        return "a field of an attrs class"
    if value.kind not in VALUES or not value.is_sure:
        return ""
    if kind == "enum" and value.instance_of is not None:
        return "a member of an enum"
    if value.kind is not Kind.FIELD:
        return ""
    if not value.on_class:
        return "a field that leaves nothing on the class"
    has_slots = option_value(class_effects(lookup, owner).options.get("slots"))
    if kind in ALWAYS_IN_SLOTS or value.reason == "a slot" or has_slots:
        return "a field that instances keep in a slot"
    return ""
