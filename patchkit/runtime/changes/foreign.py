"""Compares and describes objects that patchkit did not make, without trusting their methods."""

import contextlib
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.owners import MISSING, namespace

_PLAIN = (type(None), bool, int, float, str, bytes)
"""Types of values that are described by their `repr`."""

_FUNCTIONS = ("__func__", "fget", "func", "_self_wrapper")
"""Attributes of methods, properties, partials and wrapt's proxies that hold a function."""


def is_equal(value: Any, expected: Any) -> bool:
    """Whether two objects are the same or equal; an `__eq__` that raises counts as no.

    Args:
        value: An object, which may have an `__eq__` of any package.
        expected: The object to compare it with.
    """
    if value is expected:
        return True
    with contextlib.suppress(Exception):
        return bool(value == expected)
    return False


def described(value: Any) -> str:
    """Describe an object for messages, by where it was made.

    Args:
        value: Any object; MISSING for none.

    Returns:
        A function's module, name, file and line; `the class …`, `an object of …`, or a number or
        string as it is.
    """
    if value is MISSING:
        return "nothing: it was removed"
    if type(value) in _PLAIN:
        return f"{value!r:.60}"  # no more than 60 characters
    function = _function_of(value)
    if function is None:
        if isinstance(value, type):
            return f"the class {value.__module__}.{value.__qualname__}"
        cls = type(value)
        return f"an object of {cls.__module__}.{cls.__qualname__}"
    code = function.__code__
    # The code's name, since `functools.wraps` gives the function the name of the one it wraps.
    name = getattr(code, "co_qualname", code.co_name)
    module = function.__globals__.get("__name__")
    return f"{module}.{name} ({code.co_filename}:{code.co_firstlineno})"


def _function_of(value: Any) -> FunctionType | None:
    """Return the function that a value is, or that it was made from: a property, a partial.

    Wrappers in wrappers are followed to the innermost one. None if there is no function in Python.
    """
    if type(value) is FunctionType:
        return value
    for name in _FUNCTIONS:
        # Not `hasattr(value, name)`: a mock seems to have every attribute, but its type does not.
        if hasattr(type(value), name) or name in namespace(value):
            function = _function_of(getattr(value, name, None))
            if function is not None:
                return function
    return None
