"""Read, write and remove an attribute of an object or an item of a container; what lies there."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

from patchkit.changes.owners import MISSING, has_own, item_of, namespace, stored
from patchkit.rows.target import Item, Step

Place = tuple[int, Step]


def read(owner: Any, step: Step) -> Any:
    """Return what is stored, inherited things included; MISSING if nothing is."""
    return item_of(owner, step) if isinstance(step, Item) else stored(owner, step)[0]


def write(owner: Any, step: Step, value: Any) -> None:
    """Store a value."""
    if isinstance(step, Item):
        owner[step.key] = value
    else:
        setattr(owner, step, value)


def put_back(owner: Any, step: Step, value: Any) -> None:
    """Store what was there before, also in a dict that makes something else of what it is given."""
    write(owner, step, value)
    if isinstance(step, Item) and isinstance(owner, dict) and read(owner, step) is not value:
        dict.__setitem__(owner, step.key, value)


def restore(owner: Any, step: Step, original: Any) -> None:
    """
    Take out what was put on an owner that had none of its own; what is there is the original then.

    Args:
        owner: the owner.
        step: the attribute or item.
        original: what the owner inherits, has from a map below, or keeps elsewhere than in its
            dict; MISSING for none.

    """
    if isinstance(step, Item):
        if read(owner, step) is not original:
            del owner[step.key]
    elif has_own(owner, step):
        delattr(owner, step)
    elif read(owner, step) is not original:
        # A flag in C, a parameter of a torch module, a property of a metaclass, `__bases__`.
        delattr(owner, step) if original is MISSING else write(owner, step, original)


def words(owner: Any, step: Step) -> str:
    """For messages: `module.name`, `Class.name`, `dict['key']`."""
    where = getattr(owner, "__name__", None) or f"<{type(owner).__name__}>"
    return f"{where}{step}" if isinstance(step, Item) else f"{where}.{step}"


def place_of(owner: object, name: Step) -> Place:
    """Tell a place from all others; a module's attribute is an item of its dict."""
    if isinstance(owner, ModuleType) and not isinstance(name, Item):
        return id(namespace(owner)), Item(name)
    return id(owner), name


def is_as(value: Any, before: Any) -> bool:
    """Whether a value is what was there before, or its equal where each look makes a new one."""
    try:
        return value is before or bool(value == before)
    except Exception:  # noqa: BLE001 - a stranger's `__eq__` may raise anything
        return False


def function_of(value: Any) -> FunctionType | None:
    """The function itself, or what a static or class method calls."""
    if type(value) in {staticmethod, classmethod}:
        value = value.__func__
    return value if type(value) is FunctionType else None


def held_elsewhere(values: list[Any]) -> list[Any]:
    """Leave out what only this list holds: nobody can come with it any more."""
    alone = [object()]
    (least,) = (sys.getrefcount(value) for value in alone)
    return [value for value in values if sys.getrefcount(value) > least]
