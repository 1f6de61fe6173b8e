"""What somebody else has put on a patched attribute: what it is, and whether ours lies below it."""

import gc
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from patchkit.runtime.changes.owners import MISSING, namespace

_MOST = 300
"""Objects that are looked at on the way down; a wrapper needs a handful."""

_PLAIN = (type(None), bool, int, float, str, bytes)

_FUNCTIONS = ("__func__", "fget", "func", "_self_wrapper")
"""Where methods, properties, partials and wrapt's proxies have the function written for them."""


def leads_to(value: Any, goal: Any) -> bool:
    """Whether a wrapper holds an object in closures, defaults, attributes, bases; however deep."""
    waiting, seen = [value], {id(value)}
    while waiting and len(seen) < _MOST:
        holder = waiting.pop(0)
        if holder is goal:
            return True
        for part in _below(holder):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)
    return False


def _below(holder: Any) -> Iterable[Any]:
    if type(holder) is FunctionType:  # not its globals, which lead everywhere
        held = (holder.__closure__, holder.__defaults__, holder.__kwdefaults__)
        return (*held, namespace(holder))
    if isinstance(holder, type):
        return holder.__mro__[1:]
    if isinstance(holder, (ModuleType, *_PLAIN)):
        return ()
    return (part for part in gc.get_referents(holder) if part is not type(holder))


def described(value: Any) -> str:
    """Say what an object is and where it comes from: module, name, file and line."""
    if value is MISSING:
        return "nothing: it was removed"
    if type(value) in _PLAIN:
        return f"{value!r:.60}"
    function = _function_of(value)
    if function is None:
        kind = value if isinstance(value, type) else type(value)
        words = "the class" if isinstance(value, type) else "an object of"
        return f"{words} {kind.__module__}.{kind.__qualname__}"
    code = function.__code__
    # What was made by functools.wraps calls itself by the name of what it wraps.
    name = getattr(code, "co_qualname", code.co_name)
    where = f"{code.co_filename}:{code.co_firstlineno}"
    return f"{function.__globals__.get('__name__')}.{name} ({where})"


def _function_of(value: Any) -> FunctionType | None:
    if type(value) is FunctionType:
        return value
    # A mock answers for any name.
    named = (name for name in _FUNCTIONS if hasattr(type(value), name) or name in namespace(value))
    inside = (getattr(value, name, None) for name in named)
    return next((function for part in inside if (function := _function_of(part))), None)
