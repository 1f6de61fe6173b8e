"""Tells what an expression such as `a.name` reads from an object: a value, or a bound method."""

from dataclasses import replace

from patchkit.analysis.upstream.resolving.standard_library import standard_object
from patchkit.analysis.upstream.resolving.values import METHODS, Kind, Value

_COMPUTED = frozenset({Kind.PROPERTY, Kind.CACHED_PROPERTY})


def read_from_instance(value: Value) -> Value:
    """Return what `a.name` comes to for an object `a`.

    Args:
        value: What its class has under the name.

    Returns:
        For a property, a value of which nothing is known; any other attribute as it is.
    """
    is_computed = value.kind in _COMPUTED
    if value.kind is Kind.OUTSIDE:  # such as `Enum.value`
        found = standard_object(value.dotted)
        is_computed = found is not None and _is_property(found.value)
    if not is_computed or value.state != "present":
        return value
    reason = f"{value.qualname} computes it"
    return Value("present", Kind.ASSIGNMENT, reason=reason, is_sure=False)


def _is_property(value: object) -> bool:
    """Whether an object that a class stores is a property, or another descriptor of data."""
    is_callable = callable(value) or isinstance(value, (staticmethod, classmethod))
    return hasattr(value, "__get__") and not is_callable


def read_from_owner(value: Value) -> Value:
    """Return a method as `name = Class.method` has it, any other object as it is.

    A method that is read from an instance is bound, one from a class is not: either may be meant.

    Args:
        value: What is read.
    """
    if value.kind not in METHODS:
        return value
    reason = (
        f"{value.qualname} is read from what has it, and may be called without self"
    )
    return replace(value, kind=Kind.FUNCTION).unsure(reason)
