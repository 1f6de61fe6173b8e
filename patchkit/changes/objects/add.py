"""Add: a new attribute or a new item of a mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.changes.context import PreparedLayers
from patchkit.changes.objects.refusals import refuse_fixed, refuse_kept
from patchkit.changes.objects.replace import body_object, substitute
from patchkit.changes.owners import MISSING, Location, locate_free, stored
from patchkit.errors import TargetError
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.rows.declaration import Add


def prepare(change: Add, context: Context) -> PreparedLayers:
    """Resolve the owner, and see that upstream has nothing there."""
    assert context.module is not None
    words = f"Add({change.target!r})"
    location = _past_metaclass(locate_free(context.module, change.place.qualname))
    new = body_object(context, change.by)
    _refuse_present(words, location, context)
    refuse_kept(location, new, words)
    kind = type(location.owner)
    if isinstance(location.name, Item) and not hasattr(kind, "keys"):
        raise TargetError(
            f"{words}: found a {kind.__name__}, expected a mapping; Replace the whole, or let an "
            "AfterImport extend it and return what takes that back"
        )
    refuse_fixed(location, words)
    value = substitute(location, new)
    layer = context.layer(lambda _: value, base=True)
    return PreparedLayers([(context.sites.at(location), layer)])


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


def _refuse_present(words: str, location: Location, context: Context) -> None:
    owner, name, value, own = location
    inherits = not (own or isinstance(name, Item))
    if value is MISSING or (inherits and vars(object).get(str(name)) is value):
        return  # what every class and instance has is nobody's
    whose = "upstream"
    if context.sites.holds(owner, name):
        whose = "another patch adds or changes the same, and upstream or that one"
    elif inherits:
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
        cls = next((cls for cls in classes if name in vars(cls)), None)
        whose = f"upstream's {cls.__module__}.{cls.__qualname__}" if cls else whose
    raise TargetError(
        f"{words}: {whose} has it: found {value!r:.80}; "
        "retire the patch if upstream has it now, Replace it, or let an AfterImport extend it"
    )
