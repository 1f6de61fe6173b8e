"""Read, write and remove an attribute of an object or an item of a container."""

from __future__ import annotations

from typing import Any

from patchkit.changes.owners import MISSING, has_own, item_of, stored
from patchkit.rows.target import Item, Step


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
