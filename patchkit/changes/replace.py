"""Replace: the target becomes the body's object."""

from __future__ import annotations

from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from patchkit.changes.layered import PreparedLayer
from patchkit.changes.resolve import Location, locate
from patchkit.changes.signature import refused_call
from patchkit.errors import TargetError

if TYPE_CHECKING:
    from patchkit.changes.context import Context
    from patchkit.declaration import Replace


@dataclass
class PreparedReplace(PreparedLayer):
    """
    A checked replacement.

    Args:
        function: becomes a plain method, so it is called like its target: pickling a bound method
            goes by the function's `__name__`. None where that does not matter.

    """

    function: Any = None
    _former_name: str | None = None

    def apply(self) -> None:
        """Put the body's object in place."""
        if self.function is not None:
            self._former_name = self.function.__name__
            self.function.__name__ = str(self.site.name)
        super().apply()

    def undo(self) -> None:
        """Put back what was there."""
        if self.function is not None and self._former_name is not None:
            self.function.__name__ = self._former_name
        super().undo()


def prepare(change: Replace, context: Context) -> PreparedReplace:
    """
    Resolve and check a replacement.

    Raises:
        TargetError: nothing to replace, no object to replace it with, a class by something that
            does not derive from it, or a function by one that cannot be called like it.

    """
    assert context.module is not None
    location = locate(context.module, change.place.qualname)
    new = context.object_named(change.by)
    if not change.unrelated:
        _refuse_unrelated(change, location.value, new)
    value = _in_kind(location, new)
    if not change.unrelated and (fault := refused_call(location.value, value)):
        raise TargetError(
            f"Replace({change.target!r}): {change.by} {fault} (unrelated=True allows another)"
        )
    method = isinstance(location.owner, type) and isinstance(new, FunctionType)
    plain = isinstance(location.value, FunctionType)
    layer = context.layer(lambda _: value, base=True)
    return PreparedReplace(context.sites.at(location), layer, new if method and plain else None)


def _refuse_unrelated(change: Replace, old: Any, new: Any) -> None:
    if isinstance(old, type) and not (isinstance(new, type) and issubclass(new, old)):
        raise TargetError(
            f"Replace({change.target!r}): found {new!r}, expected a class that derives from "
            f"{old.__module__}.{old.__qualname__} (unrelated=True allows another)"
        )
    if _is_code(old) and not (callable(new) or _is_code(new)):
        raise TargetError(
            f"Replace({change.target!r}): found {new!r}, expected something to call in place of "
            f"{old!r} (unrelated=True allows another)"
        )


def _is_code(value: Any) -> bool:
    return isinstance(value, (FunctionType, staticmethod, classmethod, property))


def _in_kind(location: Location, new: Any) -> Any:
    """A plain function of the body takes on the kind of method that it replaces."""
    old = location.value
    if not isinstance(location.owner, type) or not isinstance(new, FunctionType):
        return new
    if isinstance(old, (staticmethod, classmethod)):
        return type(old)(new)
    if isinstance(old, property):
        return old.getter(new)
    return new
