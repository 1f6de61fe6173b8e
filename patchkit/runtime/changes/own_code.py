"""Finds the functions that a patch has put on a site: its pack's, and those made around others."""

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
"""Where functions around others are made, each with code of its own."""

_MAKERS = ("__init__", "__new__")
"""Methods that run when an object of a class is made."""

_DEEPEST = 20
"""The most decorators that are followed."""


def values_at(site: Site, patch: str) -> list[Any]:
    """Return what the layers of a patch have put on a site.

    Args:
        site: The attribute.
        patch: The name of the patch.
    """
    return [layer.value for layer in site.layers if layer.patch == patch]


def is_unseen(value: Any, pack: str) -> bool:
    """Whether a value may answer without running code of the pack.

    For a class the answer is an object of it.

    Args:
        value: What a layer has put on a site.
        pack: The name of the pack's package.
    """
    if not isinstance(value, type):
        return any(map(_answers, _parts(value)))
    if issubclass(value, Enum):  # its members are made with it
        return True
    for base in _of_pack(value, pack):
        for name in _MAKERS:
            maker = vars(base).get(name)
            if any(functions_in(maker, pack)):
                return False
    return True


def _answers(value: Any) -> bool:
    """Whether it, or a decorator in it, has answers from before, or code that it has compiled."""
    for _ in range(_DEEPEST):
        if type(value) is CACHED:
            if value.cache_info().currsize:
                return True
        elif not isinstance(value, FunctionType):
            is_followed = "_self_wrapper" in dir(type(value))
            return not is_followed and "__wrapped__" in namespace(value)
        value = namespace(value).get("__wrapped__", MISSING)
    return False


def functions_in(value: Any, pack: str) -> Iterator[FunctionType]:
    """Yield the functions of a pack in a value: methods of a class, and what decorators hold.

    Args:
        value: What a layer has put on a site.
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
    """Return a class and its bases, as far as the pack has defined them."""
    return [base for base in cls.__mro__ if _within(base.__module__, pack)]


def _parts(value: Any) -> tuple[Any, ...]:
    """Return the functions that a value is made of, or the value itself."""
    if is_decorated(value):
        return _parts(value.wrapped)
    return inside(value) or (value,)


def _own(value: Any, pack: str) -> FunctionType | None:
    """Follow decorators to the function of the pack: what they are made of is shared by others."""
    for _ in range(_DEEPEST):
        if isinstance(value, FunctionType):
            home = value.__globals__.get("__name__")
            if home == WRAPPERS or _within(home, pack):
                return value
        elif type(value) is not CACHED and "_self_wrapper" in dir(type(value)):
            value = value._self_wrapper  # noqa: SLF001 - wrapt's name for what was written for it
            continue
        value = namespace(value).get("__wrapped__", MISSING)
        if value is MISSING:
            return None
    return None


def _within(module: object, pack: str) -> bool:
    """Whether a module is the pack, or lies below it."""
    return isinstance(module, str) and f"{module}.".startswith(f"{pack}.")
