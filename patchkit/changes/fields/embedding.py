"""
Which pydantic classes are built from which: those that have to be rebuilt after a change.

pydantic copies the schema of a class into that of every class with a field of it. Who holds it is
read off the annotations of the fields; 300 classes of vLLM take 10 ms, their schemas 100.
"""

from __future__ import annotations

import sys
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from patchkit.changes.fields.dataclass_fields import heirs
from patchkit.changes.owners import DECORATORS, is_pydantic, namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAIN = ("__main__", "__mp_main__")


def dependents(changed: Iterable[type]) -> list[type]:
    """
    Find the pydantic classes that are built from these: themselves, subclasses, who embeds them.

    Args:
        changed: classes, pydantic's or standard dataclasses.

    Returns:
        What has to be built first comes first.

    """
    changed = list(changed)
    packages = {*(_package(cls) for cls in changed), *_MAIN}
    built = {*changed, *(heir for cls in changed for heir in heirs(cls, DECORATORS))}
    parts = _graph([*_loaded(packages), *built], packages)
    _spread(built, parts)
    return _in_order(built, parts)


def _package(cls: type) -> str:
    return str(cls.__module__).partition(".")[0]


def _graph(classes: Iterable[type], packages: set[str]) -> dict[type, set[type]]:
    """
    Map classes, and what of these packages lies between them, to what their annotations name.

    Other packages do not know these classes, so their own need not be looked into.
    """
    parts: dict[type, set[type]] = {}
    left = list(classes)
    while left:
        cls = left.pop()
        if cls not in parts:
            parts[cls] = _named(_annotations(cls))
            left += [part for part in parts[cls] if _package(part) in packages]
    return parts


def _spread(built: set[type], parts: dict[type, set[type]]) -> None:
    """Add who embeds what was found, until nothing is added."""
    holders: dict[type, list[type]] = {}
    for holder, held in parts.items():
        for part in held:
            holders.setdefault(part, []).append(holder)
    new = list(built)
    while new:
        fresh = {holder for holder in holders.get(new.pop(), ()) if holder not in built}
        built |= fresh
        new += fresh


def _in_order(built: set[type], parts: dict[type, set[type]]) -> list[type]:
    """Put bases before subclasses, and what is embedded before what embeds it."""
    order: dict[type, None] = {}
    seen: set[type] = set()

    def visit(cls: type) -> None:
        if cls in seen or cls not in built:
            return
        seen.add(cls)
        for needed in (*cls.__mro__[1:], *sorted(parts.get(cls, ()), key=_name)):
            visit(needed)
        order[cls] = None

    for cls in sorted(built, key=_name):
        visit(cls)
    return [cls for cls in order if is_pydantic(cls)]


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _loaded(packages: set[str]) -> Iterator[type]:
    """Every pydantic class that a module of these packages holds, and those inside them."""
    seen: set[type] = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            yield from _classes_in(namespace(module), seen)


def _classes_in(values: Any, seen: set[type]) -> Iterator[type]:
    for value in tuple(values.values()):
        if isinstance(value, type) and DECORATORS in value.__dict__ and value not in seen:
            seen.add(value)
            yield value
            yield from _classes_in(vars(value), seen)


def _named(annotations: list[Any]) -> set[type]:
    """Return the classes that annotations name, however deep."""
    classes: set[type] = set()
    left = annotations
    while left:
        annotation = left.pop()
        if inner := get_args(annotation):
            left += inner
        elif isinstance(annotation, type):
            classes.add(annotation)
        else:
            left += _behind(annotation)
    return classes


def _annotations(cls: type) -> list[Any]:
    """Pydantic looks into standard dataclasses, typed dicts and named tuples by itself."""
    if is_pydantic(cls):
        fields = vars(cls).get("__pydantic_fields__") or {}
        return [field.annotation for field in fields.values()]
    if not (is_dataclass(cls) or hasattr(cls, "__total__") or hasattr(cls, "_fields")):
        return []
    try:
        return list(get_type_hints(cls).values())
    except Exception:  # noqa: BLE001 - a name that is not there yet: pydantic cannot see it either
        return []


def _behind(annotation: Any) -> list[Any]:
    """Return what an alias (`type X = …`), a NewType or a type variable stands for."""
    names = ("__value__", "__supertype__", "__bound__")
    stands_for = [getattr(annotation, name, None) for name in names]
    return [
        *(value for value in stands_for if value is not None),
        *getattr(annotation, "__constraints__", ()),
    ]
