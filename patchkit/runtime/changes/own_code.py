"""The code that a patch has put in a place: functions of its pack, and those made around others."""

from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any

from patchkit.runtime.changes.owners import CACHED, MISSING, inside, is_decorated, namespace
from patchkit.runtime.changes.sites import Site

WRAPPERS = "patchkit.runtime.changes.objects.wrap"
"""Where functions around others are made, each with code of its own."""

_MAKERS = ("__init__", "__new__")
_DEEPEST = 20
"""Decorators that are followed."""


def values_at(site: Site, patch: str) -> list[Any]:
    """Find what the layers of a patch have put there."""
    return [layer.value for layer in site.layers if layer.patch == patch]


def is_unseen(value: Any, pack: str) -> bool:
    """Whether it may answer, or an object of it be made, without running code of the pack."""
    if not isinstance(value, type):
        return any(map(_answers, _parts(value)))
    if issubclass(value, Enum):  # its members are made with it
        return True
    makers = (vars(base).get(name) for base in _of_pack(value, pack) for name in _MAKERS)
    return not any(any(functions_in(maker, pack)) for maker in makers)


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
    """Find the functions of a pack in what a place holds: methods of a class, what is decorated."""
    if isinstance(value, type):
        for base in _of_pack(value, pack):
            for member in list(vars(base).values()):
                if not isinstance(member, type):
                    yield from functions_in(member, pack)
        return
    for part in _parts(value):
        if (function := _own(part, pack)) is not None:
            yield function


def _of_pack(cls: type, pack: str) -> list[type]:
    return [base for base in cls.__mro__ if _within(base.__module__, pack)]


def _parts(value: Any) -> tuple[Any, ...]:
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
    return isinstance(module, str) and f"{module}.".startswith(f"{pack}.")
