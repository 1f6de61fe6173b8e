"""Tells which objects that are no functions can be called: instances, and partial functions."""

from patchkit.analysis.upstream.resolving.metaclasses import is_of_metaclass
from patchkit.analysis.upstream.resolving.outside import has_member
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Value


def can_be_called(lookup: Lookup, value: Value) -> bool | None:
    """Whether an object can be called: a partial function, or one with a `__call__`.

    Args:
        lookup: The release.
        value: The object: what a name is assigned to.

    Returns:
        None if its class may have a `__call__`.
    """
    cls = value.instance_of
    if cls is None:
        return False
    if cls.kind is Kind.OUTSIDE:
        is_partial = cls.dotted == "functools.partial"
        return is_partial or has_member(cls.dotted, "__call__") is True
    # A class has the `__call__` of its metaclass, its instances do not.
    states = {
        member.state
        for member in lookup.member(cls, "__call__")
        if not is_of_metaclass(lookup, cls, member)
    }
    return None if "undecidable" in states else "present" in states
