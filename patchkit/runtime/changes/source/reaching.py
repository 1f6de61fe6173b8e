"""Tells whether a function can call the one that its `__wrapped__` names.

`functools.wraps` is also used for a signature alone: what it names then is somebody else's.
"""

import gc
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_MOST = 10_000
"""After so many objects the answer is yes: as many decorators call what they name as do not."""


def reaches(function: FunctionType, named: Any) -> bool:
    """Whether a function has an object in its reach, as far as one can tell.

    It has what its closure, its defaults and its attributes hold, at any depth, and the globals
    that its code names. Code that names a function may get it from anywhere.

    Args:
        function: The function.
        named: The object that its `__wrapped__` names.
    """
    name = getattr(named, "__name__", None)
    visited: dict[int, Any] = {}
    pending: list[Any] = [function]
    while pending and len(visited) < _MOST:
        value = pending.pop()
        if value is named:
            return True
        if id(value) in visited or issubclass(type(value), ModuleType):
            continue
        visited[id(value)] = value
        if type(value) is not FunctionType:
            pending += gc.get_referents(value)
            continue
        names = set(_names(value.__code__))
        if "__wrapped__" in names or name in names:
            return True
        pending += _held(value)
        # Not what these call in turn: it would be half of the program.
        globals_named = [value.__globals__.get(word) for word in names]
        pending += [held for held in globals_named if not _is_definition(held)]
        if any(held is named for held in globals_named):
            return True
    return bool(pending)


def _held(function: FunctionType) -> Iterator[Any]:
    yield from function.__closure__ or ()
    yield function.__defaults__
    yield function.__kwdefaults__
    for name, value in tuple(function.__dict__.items()):
        if name != "__wrapped__":
            yield value


def _is_definition(value: Any) -> bool:
    return issubclass(type(value), (FunctionType, type))


def _names(code: CodeType) -> Iterable[str]:
    """Yield the globals and attributes that some code names, and the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
