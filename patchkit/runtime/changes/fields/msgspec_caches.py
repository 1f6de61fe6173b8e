"""Has msgspec forget what it has read off changed classes, and names what does not forget it."""

import gc
from collections.abc import Iterable
from typing import Any

from patchkit.runtime.changes.owners import heirs

_CACHE = "__msgspec_cache__"
"""In the dict of a dataclass, a typed dict or a named tuple that msgspec has read."""


def forget_caches(changed: Iterable[type]) -> list[str]:
    """Take off what msgspec has read off some classes, and off those with a field of them.

    Args:
        changed: The changed classes.

    Returns:
        The decoders and structs that go on with what was read, in words: nothing reaches into them.
    """
    kept: dict[str, None] = {}
    readings: list[Any] = []
    for cls in changed:
        readings += _taken_off([cls, *heirs(cls, _CACHE)])
    while readings:
        holders = gc.get_referrers(*readings)
        readings = []
        for holder in holders:
            kind = type(holder)
            if kind.__module__.partition(".")[0] != "msgspec":
                continue
            if kind.__name__ == "Decoder":
                kept[f"{kind.__module__}.Decoder({holder.type!r})"] = None
                continue
            classes = _read_classes(holder)
            readings += _taken_off(classes)
            if kind.__name__ == "StructInfo":
                names = [f"{cls.__module__}:{cls.__qualname__}" for cls in classes]
                kept.update((f"{name} (read by msgspec)", None) for name in names)
    return list(kept)


def _read_classes(reading: Any) -> list[type]:
    """Return the class that a reading is of, which it knows itself, but for a typed dict's."""
    classes = _classes(gc.get_referents(reading))
    if classes:
        return classes
    namespaces = [
        holder
        for holder in gc.get_referrers(reading)
        if type(holder) is dict and holder.get(_CACHE) is reading
    ]
    return _classes(gc.get_referrers(*namespaces))


def _classes(values: Iterable[Any]) -> list[type]:
    return [value for value in values if issubclass(type(value), type)]


def _taken_off(classes: Iterable[type]) -> list[Any]:
    """Take off what msgspec has put on some classes, and return it."""
    readings = []
    for cls in classes:
        if _CACHE in vars(cls):
            readings.append(vars(cls)[_CACHE])
            delattr(cls, _CACHE)
    return readings
