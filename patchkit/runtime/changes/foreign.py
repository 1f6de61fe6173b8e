"""Describes an object that somebody else has put on an attribute, and finds what it wraps."""

import contextlib
import gc
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from patchkit.runtime.changes.owners import MISSING, namespace

_MOST = 300
"""The most objects that are looked at on the way down; a wrapper needs a handful."""

_PLAIN = (type(None), bool, int, float, str, bytes)
"""Types of values that hold nothing else, and that are described by their `repr`."""

_FUNCTIONS = ("__func__", "fget", "func", "_self_wrapper")
"""Where methods, properties, partials and wrapt's proxies have the function written for them."""


def leads_to(value: Any, goal: Any) -> bool:
    """Whether a wrapper holds an object in closures, defaults, attributes or bases, however deep.

    Args:
        value: The wrapper.
        goal: The object that it may hold.
    """
    pending = [value]
    visited = {id(value)}
    while pending and len(visited) < _MOST:
        holder = pending.pop(0)
        if holder is goal:
            return True
        for part in _below(holder):
            if id(part) not in visited:
                visited.add(id(part))
                pending.append(part)
    return False


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


def _below(holder: Any) -> Iterable[Any]:
    """Return what an object holds directly."""
    if type(holder) is FunctionType:  # not its globals, which lead everywhere
        parts = (holder.__closure__, holder.__defaults__, holder.__kwdefaults__)
        return (*parts, namespace(holder))
    if isinstance(holder, type):
        return holder.__mro__[1:]
    if isinstance(holder, (ModuleType, *_PLAIN)):
        return ()
    return (part for part in gc.get_referents(holder) if part is not type(holder))


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
