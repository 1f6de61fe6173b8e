"""Describes an object that somebody else has put on an attribute."""

import contextlib
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.owners import MISSING, namespace

_PLAIN = (type(None), bool, int, float, str, bytes)
"""Types of values that are described by their `repr`."""

_FUNCTIONS = ("__func__", "fget", "func", "_self_wrapper")
"""Where methods, properties, partials and wrapt's proxies have the function written for them."""


def is_equal(value: Any, expected: Any) -> bool:
    """Whether two objects are the same, or say that they are equal.

    Args:
        value: An object, which may be a stranger's.
        expected: The object that it may be equal to.
    """
    if value is expected:
        return True
    with contextlib.suppress(Exception):  # a stranger's `__eq__` may raise anything
        return bool(value == expected)
    return False


def described(value: Any) -> str:
    """Return words for what an object is and where it comes from: module, name, file and line.

    Args:
        value: Any object; MISSING for none.
    """
    if value is MISSING:
        return "nothing: it was removed"
    if type(value) in _PLAIN:
        return f"{value!r:.60}"
    function = _function_of(value)
    if function is None:
        if isinstance(value, type):
            return f"the class {value.__module__}.{value.__qualname__}"
        cls = type(value)
        return f"an object of {cls.__module__}.{cls.__qualname__}"
    code = function.__code__
    # What was made by functools.wraps calls itself by the name of what it wraps.
    name = getattr(code, "co_qualname", code.co_name)
    module = function.__globals__.get("__name__")
    return f"{module}.{name} ({code.co_filename}:{code.co_firstlineno})"


def _function_of(value: Any) -> FunctionType | None:
    """Return the function that a value is or was made for; None if there is none."""
    if type(value) is FunctionType:
        return value
    for name in _FUNCTIONS:
        # A mock answers for any name.
        if hasattr(type(value), name) or name in namespace(value):
            function = _function_of(getattr(value, name, None))
            if function is not None:
                return function
    return None
