"""Defines what a kind of change is given to be prepared, and what it returns to be applied."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Protocol

from patchkit.core.record import Record
from patchkit.errors import TargetError, near
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites


class Context(Record):
    """What a change is prepared with.

    Args:
        module: The target's module; None before it has been imported.
        body: The loaded body; the pack itself for a patch without one.
        sites: All changed attributes of this process.
        patch: The name of the patch; "" for patchkit's own changes.
        rank: The position of the row among rows, and of the change in its row.
    """

    module: ModuleType | None
    body: ModuleType
    sites: Sites
    patch: str = ""
    rank: tuple[int, int] = (0, 0)

    def layer(self, make: Callable[[Any], Any], *, base: bool = False) -> Layer:
        """Return a layer of this change, which is not put on yet.

        Args:
            make: Makes the value with the layer of the value below it.
            base: Whether the layer takes the place of the original.
        """
        return Layer(make, base, self.rank, self.patch)

    def object_named(self, name: str) -> object:
        """Return the body's object of a name.

        Args:
            name: The name, which may be dotted.

        Raises:
            TargetError: The body has no such object.
        """
        value: object = self.body
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                public = sorted(
                    word for word in vars(self.body) if not word.startswith("__")
                )
                hint = near(name, public) or f"; it has {', '.join(public)}"
                raise TargetError(
                    f"body {self.body.__name__} has no {name!r}{hint}"
                ) from error
        return value


class Prepared(Protocol):
    """A change that only has to be made."""

    @property
    def sites(self) -> Collection[Site]:
        """The attributes that hold another object then, so that others may hold stale copies."""

    def apply(self) -> None:
        """Make the change."""

    def undo(self) -> None:
        """Take back what `apply` has made, also where that was torn off; else do nothing."""


class PreparedLayers(Record, frozen=False):
    """Layers that come and go together, in order: each is made from what lies there by then.

    Args:
        parts: Each layer, with the site that it is for.
    """

    parts: Sequence[tuple[Site, Layer]]

    @property
    def sites(self) -> tuple[Site, ...]:
        """The sites of all parts."""
        return tuple(site for site, _ in self.parts)

    def apply(self) -> None:
        """Put all layers on."""
        for site, layer in self.parts:
            site.put(layer)

    def undo(self) -> None:
        """Take all layers off, in the order they were put on; raise the first error after that."""
        undos: list[Callable[[], None]] = [
            partial(site.take, layer) for site, layer in reversed(self.parts)
        ]
        errors = unwind(undos)
        if errors:
            raise errors[0]


def unwind(undos: list[Callable[[], None]]) -> list[Exception]:
    """Run undos, the last first; an error does not stop the others.

    Args:
        undos: The undos; the list is empty afterwards.

    Returns:
        The errors, in the order in which they were raised.
    """
    errors: list[Exception] = []
    while undos:
        undo = undos.pop()
        try:
            undo()
        except Exception as error:  # noqa: BLE001 - reported by the caller, once all have run
            errors.append(error)
    return errors
