"""Finds the functions of a pack in what a patch has put on a site, so that calls can be counted.

A call of one of them shows that the patch is in effect.
"""

from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    inside,
    is_decorated,
    namespace,
)
from patchkit.runtime.changes.site import Site

WRAPPERS = "patchkit.runtime.changes.objects.wrap"
"""The module that makes the functions of Wrap; each has a code object of its own."""

_MAKERS = ("__init__", "__new__")
"""Methods that run when an object of a class is made."""

_DEEPEST = 20
"""The most decorators around one function that are followed."""


def values_at(site: Site, patch: str) -> list[Any]:
    """Return the values that the layers of a patch have made on a site, to search for functions.

    Args:
        site: The attribute.
        patch: The name of the patch.
    """
    return [layer.value for layer in site.layers if layer.patch == patch]


def is_unseen(value: Any, pack: str) -> bool:
    """Whether a value can be called without running a function of the pack.

    Then the patch may be in effect though no call of it is counted.

    That is so for a function with cached results, and for a class without an `__init__` or
    `__new__` of the pack.

    Args:
        value: The value of a layer.
        pack: The name of the pack's package.
    """
    if not isinstance(value, type):
        return any(map(_is_cached_or_compiled, _parts(value)))
    if issubclass(value, Enum):  # its members exist already
        return True
    for base in _of_pack(value, pack):
        for name in _MAKERS:
            maker = vars(base).get(name)
            if any(functions_in(maker, pack)):
                return False
    return True


def _is_cached_or_compiled(value: Any) -> bool:
    """Whether a function, or a decorator inside it, has cached results or code of its own.

    Unknown decorators with a `__wrapped__` count: a compiler such as `torch.compile` runs machine
    code in place of the function.
    """
    for _ in range(_DEEPEST):
        if type(value) is CACHED:
            if value.cache_info().currsize:  # results that it returns without a call
                return True
        elif not isinstance(value, FunctionType):
            # A callable object: one of wrapt runs the function inside; others may be compiled.
            is_of_wrapt = "_self_wrapper" in dir(type(value))
            return not is_of_wrapt and "__wrapped__" in namespace(value)
        value = namespace(value).get("__wrapped__", MISSING)
    return False


def functions_in(value: Any, pack: str) -> Iterator[FunctionType]:
    """Yield the functions of a pack in a value: the methods of a class, a decorated function.

    Args:
        value: The value of a layer.
        pack: The name of the pack's package.
    """
    if isinstance(value, type):
        for base in _of_pack(value, pack):
            for member in list(vars(base).values()):
                if not isinstance(member, type):
                    yield from functions_in(member, pack)
        return
    for part in _parts(value):
        function = _own(part, pack)
        if function is not None:
            yield function


def _of_pack(cls: type, pack: str) -> list[type]:
    """Return those of a class and its bases that the pack defines."""
    return [base for base in cls.__mro__ if _within(base.__module__, pack)]


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the functions in a property, static method or the like; else the value itself."""
    if is_decorated(value):
        return _parts(value.wrapped)
    return inside(value) or (value,)


def _own(value: Any, pack: str) -> FunctionType | None:
    """Follow decorators inwards to a function of the pack, or one that Wrap made for it.

    A decorator's own function is skipped: others use the same decorator.

    Returns:
        The function; None if there is none.
    """
    for _ in range(_DEEPEST):
        if isinstance(value, FunctionType):
            home = value.__globals__.get("__name__")
            if home == WRAPPERS or _within(home, pack):
                return value
        elif "_self_wrapper" in dir(type(value)):
            value = value._self_wrapper  # noqa: SLF001 - the body's function in wrapt's FunctionWrapper
            continue
        value = namespace(value).get("__wrapped__", MISSING)
        if value is MISSING:
            return None
    return None


def _within(module: object, pack: str) -> bool:
    """Whether the name of a module is the pack's, or that of a module in it."""
    return isinstance(module, str) and f"{module}.".startswith(f"{pack}.")
