"""From a qualname to what holds the attribute or item, without running descriptors."""

from __future__ import annotations

from collections import ChainMap
from types import ModuleType
from typing import Any, NamedTuple, cast

from patchkit.errors import TargetError
from patchkit.rows.target import Item, Step, steps_of


class Location(NamedTuple):
    """
    An attribute, or an item of a container, as it is stored.

    Args:
        owner: module, class, instance or container that it is set on.
        name: the attribute, or the item.
        value: the stored value (a staticmethod stays one).
        own: False where the owner only inherits it.

    """

    owner: Any
    name: Step
    value: Any
    own: bool


def locate(module: ModuleType, qualname: str) -> Location:
    """
    Walk from a module to the last step of a qualname.

    Raises:
        TargetError: a step on the way is not there.

    """
    location = locate_free(module, qualname)
    if location.value is MISSING:
        raise TargetError(_missing(module, qualname, location.owner, location.name))
    return location


def locate_free(module: ModuleType, qualname: str) -> Location:
    """
    Walk to the owner of the last step, which itself may be missing.

    Raises:
        TargetError: a step before the last is not there.

    """
    *path, last = steps_of(qualname)
    owner: Any = module
    for step in path:
        owner = _step(module, qualname, owner, step)
    if isinstance(last, Item):
        last = _from_the_front(owner, last)
        value = item_of(owner, last)
        return Location(owner, last, value, value is not MISSING and _is_own_item(owner, last))
    return Location(owner, last, *stored(owner, last))


class _Missing:
    def __repr__(self) -> str:
        return "<missing>"


MISSING = _Missing()


def stored(owner: Any, name: str) -> tuple[Any, bool]:
    """Return the stored value and whether it is the owner's own; (MISSING, False) if none."""
    value = peek(owner, name)
    return (_dynamic(owner, name) if value is MISSING else value), has_own(owner, name)


def peek(owner: Any, step: Step) -> Any:
    """Return what is stored, or MISSING; runs neither properties nor `__getattr__`."""
    if isinstance(step, Item):
        return _peek_item(owner, step.key)
    own = namespace(owner)
    if step in own:
        return own[step]
    return next((vars(base)[step] for base in _bases(owner) if step in vars(base)), MISSING)


def _peek_item(owner: Any, key: Any) -> Any:
    if isinstance(owner, dict):
        return dict.get(owner, key, MISSING)
    if type(owner) in {list, tuple} and isinstance(key, int) and -len(owner) <= key < len(owner):
        return owner[key]
    return MISSING


def has_own(owner: Any, name: str) -> bool:
    """Whether an owner itself holds the attribute."""
    return name in namespace(owner)


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


def _step(module: ModuleType, qualname: str, owner: Any, step: Step) -> Any:
    value = item_of(owner, step) if isinstance(step, Item) else getattr(owner, step, MISSING)
    if value is MISSING:
        raise TargetError(_missing(module, qualname, owner, step))
    return value


def item_of(owner: Any, item: Item) -> Any:
    """Return what a container holds there, or MISSING; a defaultdict makes no new item for it."""
    try:
        if hasattr(type(owner), "keys") and item.key not in owner:
            return MISSING
        return owner[item.key]
    except (LookupError, TypeError):
        return MISSING


def _is_own_item(owner: Any, item: Item) -> bool:
    """Whether it goes for good when it is deleted; a ChainMap has it from a map below then."""
    return not isinstance(owner, ChainMap) or item.key in owner.maps[0]


def _from_the_front(owner: Any, item: Item) -> Item:
    """Count a list's items from its beginning: `[-1]` names the same place as `[2]` then."""
    if isinstance(owner, list) and isinstance(item.key, int) and -len(owner) <= item.key < 0:
        return Item(len(owner) + item.key)
    return item


def _missing(module: ModuleType, qualname: str, owner: Any, step: Step) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only on the way to an error

    where = owner.__name__ if isinstance(owner, (ModuleType, type)) else type(owner).__name__
    known = list(namespace(owner))
    if isinstance(step, Item):
        known = [str(key) for key in owner] if isinstance(owner, dict) else []
    near = get_close_matches(str(step.key if isinstance(step, Item) else step), known, n=2)
    hint = f"; near it: {', '.join(near)}" if near else ""
    name = f"item {step}" if isinstance(step, Item) else repr(step)
    return f"target {module.__name__}:{qualname} is not there: {where} has no {name}{hint}"
