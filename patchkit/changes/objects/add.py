"""Add: a new attribute or a new item of a mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.changes.objects.substitutes import (
    body_object,
    refuse_fixed,
    refuse_kept,
    substitute,
)
from patchkit.changes.owners import MISSING, Location, locate_free, stored
from patchkit.changes.prepared import PreparedLayers
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.rows.declaration import Add


def prepare(change: Add, context: Context) -> PreparedLayers:
    """
    Resolve the owner, and see that upstream has nothing there.

    Raises:
        TargetError: it has by now, or nothing can be put there.

    """
    assert context.module is not None
    words = f"Add({change.target!r})"
    location = _past_metaclass(locate_free(context.module, change.place.qualname))
    new = body_object(context, change.by)
    _refuse_present(words, location, context)
    refuse_kept(location, new, words)
    _refuse_no_mapping(words, location)
    refuse_fixed(location, words)
    return _layer(location, substitute(location, new), context)


def _past_metaclass(location: Location) -> Location:
    """What only the metaclass has (`type.__call__`, `ABCMeta.register`), the class may get."""
    owner, name = location.owner, location.name
    if not isinstance(owner, type) or isinstance(name, Item):
        return location
    value = stored(type(owner), name)[0]
    takes_it = hasattr(type(value), "__set__")  # instead of the class
    if value is MISSING or takes_it or any(name in vars(base) for base in owner.__mro__):
        return location
    return Location(owner, name, MISSING, own=False)


def _layer(location: Location, value: Any, context: Context) -> PreparedLayers:
    layer = context.layer(lambda _: value, base=True)
    return PreparedLayers([(context.sites.at(location), layer)])


def _refuse_present(words: str, location: Location, context: Context) -> None:
    if location.value is MISSING or _is_everybodys(location):
        return
    raise TargetError(
        f"{words}: {_whose(location, context)} has it: found {location.value!r:.80}; "
        "retire the patch if upstream has it now, Replace it, or let an AfterImport extend it"
    )


def _is_everybodys(location: Location) -> bool:
    """Whether the owner has it only as every class and instance has."""
    if location.own or isinstance(location.name, Item):
        return False
    return vars(object).get(location.name) is location.value


def _whose(location: Location, context: Context) -> str:
    if context.sites.holds(location.owner, location.name):
        return "another patch adds or changes the same, and upstream or that one"
    owner = location.owner
    if location.own or isinstance(location.name, Item):
        return "upstream"
    classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
    cls = next((cls for cls in classes if location.name in vars(cls)), None)
    return f"upstream's {cls.__module__}.{cls.__qualname__}" if cls else "upstream"


def _refuse_no_mapping(words: str, location: Location) -> None:
    kind = type(location.owner)
    if not isinstance(location.name, Item) or hasattr(kind, "keys"):
        return
    raise TargetError(
        f"{words}: found a {kind.__name__}, expected a mapping; Replace the whole, or let an "
        "AfterImport extend it and return what takes that back"
    )
