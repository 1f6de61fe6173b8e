"""What somebody else has put on a patched attribute: what it is, and whether ours lies below it."""

from __future__ import annotations

from functools import cached_property, partial, partialmethod
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import MISSING, namespace

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 300
"""Objects that are looked at on the way down; a wrapper needs a handful."""

_PLAIN = (type(None), bool, int, float, str, bytes)

_INSIDE: tuple[tuple[type | tuple[type, ...], tuple[str, ...]], ...] = (
    ((staticmethod, classmethod), ("__func__",)),
    (MethodType, ("__func__", "__self__")),
    (property, ("fget", "fset", "fdel")),
    (cached_property, ("func",)),
    ((partial, partialmethod), ("func", "args", "keywords")),
)


def leads_to(value: Any, goal: Any) -> bool:
    """
    Whether a wrapper holds an object, through whatever it wraps in turn.

    Looks at `__wrapped__`, closures, defaults, partials, methods, attributes of objects, and the
    bases of classes.
    """
    waiting, seen = [value], {id(value)}
    while waiting and len(seen) < _MOST:
        one = waiting.pop(0)
        if one is goal:
            return True
        for part in _below(one):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)
    return False


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
    return (
        f"{function.__globals__.get('__name__')}.{name} ({code.co_filename}:{code.co_firstlineno})"
    )


def _function_of(value: Any) -> FunctionType | None:
    """Find the function that was written for it; wrapt's proxies keep it apart."""
    if type(value) is FunctionType:
        return value
    inside = _named(value)
    if not inside and _is_proxy(value):
        inside = [getattr(value, "_self_wrapper", None)]
    return next((found for one in inside if (found := _function_of(one))), None)


def _below(value: Any) -> Iterator[Any]:
    if type(value) is FunctionType:
        yield from (value.__defaults__ or (), value.__kwdefaults__ or {})
        yield from _contents(value)
        yield from namespace(value).values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif type(value) is dict:
        yield from value.values()
    elif isinstance(value, type):
        yield from value.__mro__[1:]
    elif inside := _named(value):
        yield from inside
        yield from namespace(value).values()
    else:
        yield getattr(value, "__wrapped__", None) if _is_proxy(value) else None
        yield from namespace(value).values()


def _named(value: Any) -> list[Any]:
    names = next((names for types, names in _INSIDE if isinstance(value, types)), ())
    return [getattr(value, name) for name in names]


def _contents(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # it is empty
            continue


def _is_proxy(value: Any) -> bool:
    """Whether it is one of wrapt's, or like one: its type says that there is something below."""
    return hasattr(type(value), "__wrapped__")
