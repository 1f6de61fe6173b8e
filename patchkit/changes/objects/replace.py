"""
Replace: the target becomes the body's object.

Most targets are one attribute or item. Where upstream reads something else (a kernel's launcher,
torch's dispatcher), that is where the object goes.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

from patchkit.changes.built_classes import is_decorated
from patchkit.changes.objects import kernels, torch_ops
from patchkit.changes.objects.registered import refuse_lost_registrations, refuse_registered
from patchkit.changes.objects.shapes import CACHED
from patchkit.changes.objects.signature import refused_call
from patchkit.changes.objects.substitutes import (
    body_object,
    refuse_fixed,
    refuse_kept,
    substitute,
)
from patchkit.changes.owners import MISSING, Location, locate, locate_free
from patchkit.changes.prepared import PreparedLayers
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.changes.context import Context, Prepared
    from patchkit.rows.declaration import Replace


def prepare(change: Replace, context: Context) -> Prepared:
    """
    Resolve and check a replacement.

    Raises:
        TargetError: nothing to replace, no object to replace it with, a place that takes none, a
            class by something that does not derive from it, or a function by one that cannot be
            called like it.

    """
    assert context.module is not None
    qualname = change.place.qualname
    location = locate_free(context.module, qualname)
    new = body_object(context, change.by)
    if special := _special(change, location, new, context):
        return special
    if location.value is MISSING:
        locate(context.module, qualname)  # raises, and says what is near
    return _plain(change, location, new, context)


def _plain(change: Replace, location: Location, new: Any, context: Context) -> Prepared:
    words = f"Replace({change.target!r})"
    refuse_kept(location, new, words)
    refuse_registered(location.value, words)
    if not change.unrelated:
        _refuse_unrelated(words, location.value, new)
        refuse_lost_registrations(location.value, new, words)
    value = substitute(location, new, unrelated=change.unrelated)
    if not change.unrelated:
        _refuse_call(change, location.value, value)
    refuse_fixed(location, words)
    return _layers([location], value, context)


def _special(change: Replace, location: Location, new: Any, context: Context) -> Prepared | None:
    if (op := torch_ops.op_at(location, context.sites)) and not _is_of_kind(location.value, new):
        return _op(change, op, new, context)
    if change.unrelated or not isinstance(new, FunctionType):
        return None
    if kernels.is_kernel(location.value):
        run = kernels.launched(location.value, new)
        return _layers([kernels.launch(location.value)], run, context)
    return None


def _is_of_kind(old: Any, new: Any) -> bool:
    """Whether one operator takes the place of another, under the name alone."""
    return old is not MISSING and isinstance(new, type(old))


def _op(change: Replace, op: torch_ops.Op, new: Any, context: Context) -> Prepared:
    words = f"Replace({change.target!r})"
    if not callable(new):
        raise TargetError(f"{words}: found {new!r}, expected a function")
    if not change.unrelated:
        _refuse_call(change, op.like, new)
    return _layers(op.places, new, context)


def _layers(places: Iterable[Location], value: Any, context: Context) -> Prepared:
    return PreparedLayers(
        [(context.sites.at(place), context.layer(lambda _: value, base=True)) for place in places]
    )


def _refuse_call(change: Replace, old: Any, new: Any) -> None:
    if fault := refused_call(old, new):
        raise TargetError(
            f"Replace({change.target!r}): {change.by} {fault} (unrelated=True allows another)"
        )


def _refuse_unrelated(words: str, old: Any, new: Any) -> None:
    # Not by `issubclass`: a Protocol forbids it, and a class may answer what it likes.
    if isinstance(old, type) and not (isinstance(new, type) and old in new.__mro__):
        raise TargetError(
            f"{words}: found {new!r}, expected a class that derives from "
            f"{old.__module__}.{old.__qualname__} (unrelated=True allows another)"
        )
    if _is_code(old) and not (callable(new) or _is_code(new)):
        raise TargetError(
            f"{words}: found {new!r}, expected something to call in place of {old!r} "
            "(unrelated=True allows another)"
        )


def _is_code(value: Any) -> bool:
    if isinstance(value, (FunctionType, staticmethod, classmethod, property, CACHED)):
        return True
    return is_decorated(value) or (kernels.is_kernel(value) and not callable(value))
