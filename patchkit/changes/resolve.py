"""From a qualname to the object that holds the attribute, without running descriptors."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple, cast

from patchkit.errors import TargetError


class Location(NamedTuple):
    """
    An attribute as it is stored.

    Args:
        owner: module, class or instance that the attribute is set on.
        name: the attribute.
        value: the stored value (a staticmethod stays one).
        own: False where the owner only inherits it.

    """

    owner: Any
    name: str
    value: Any
    own: bool


def locate(module: ModuleType, qualname: str) -> Location:
    """
    Walk from a module to the last name of a qualname.

    Raises:
        TargetError: a name on the way is not there.

    """
    *path, name = qualname.split(".")
    owner: Any = module
    for part in path:
        owner = _step(module, qualname, owner, part)
    value, own = stored(owner, name)
    if value is MISSING:
        raise TargetError(_missing(module, qualname, owner, name))
    return Location(owner, name, value, own)


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


def stored(owner: Any, name: str) -> tuple[Any, bool]:
    """Return the stored value and whether it is the owner's own; (MISSING, False) if none."""
    own = namespace(owner)
    if name in own:
        return own[name], True
    for base in _bases(owner):
        if name in vars(base):
            return vars(base)[name], False
    return _dynamic(owner, name), False


def namespace(owner: Any) -> dict[str, Any]:
    """Return the attributes that an object itself holds; a module's own dict, never a copy."""
    try:
        # A lazy module would load on `vars()`; the plain attribute look-up does not touch it.
        return cast("dict[str, Any]", object.__getattribute__(owner, "__dict__"))
    except AttributeError:
        return {}


def _bases(owner: Any) -> tuple[type, ...]:
    if isinstance(owner, ModuleType):
        return ()
    return owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__


def _dynamic(owner: Any, name: str) -> Any:
    """Ask `__getattr__`: a module may build its names lazily."""
    try:
        return getattr(owner, name)
    except AttributeError:
        return MISSING


def _step(module: ModuleType, qualname: str, owner: Any, part: str) -> Any:
    try:
        return getattr(owner, part)
    except AttributeError as error:
        raise TargetError(_missing(module, qualname, owner, part)) from error


def _missing(module: ModuleType, qualname: str, owner: Any, name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only on the way to an error

    where = owner.__name__ if isinstance(owner, (ModuleType, type)) else type(owner).__name__
    near = get_close_matches(name, list(namespace(owner)), n=2)
    hint = f"; near it: {', '.join(near)}" if near else ""
    return f"target {module.__name__}:{qualname} is not there: {where} has no {name!r}{hint}"
