"""What a kind of change is given, and what it gives back."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import ModuleType
from typing import Any, Protocol

from patchkit.core.record import Record
from patchkit.errors import TargetError, near
from patchkit.runtime.changes.sites import Layer, Site, Sites


class Context(Record):
    """Where a change works."""

    module: ModuleType | None  # the target's; None before it has been imported
    body: ModuleType  # the loaded body; the pack itself for a patch without one
    sites: Sites
    patch: str = ""
    rank: tuple[int, int] = (0, 0)  # place of the row among rows, and of the change in its row

    def layer(self, make: Callable[[Any], Any], *, base: bool = False) -> Layer:
        """Make this change's layer."""
        return Layer(make, base, self.rank, self.patch)

    def object_named(self, name: str) -> object:
        """Find the body's object with this (dotted) name; a TargetError where there is none."""
        value: object = self.body
        for part in name.split("."):
            try:
                value = getattr(value, part)
            except AttributeError as error:
                public = sorted(word for word in vars(self.body) if not word.startswith("__"))
                hint = near(name, public) or f"; it has {', '.join(public)}"
                raise TargetError(f"body {self.body.__name__} has no {name!r}{hint}") from error
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
    """Layers that come and go together in order: each is made from what lies there by then."""

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
        """Take all layers off; an UndoError once that is done, where one was overwritten."""
        if errors := unwind([partial(site.take, layer) for site, layer in reversed(self.parts)]):
            raise errors[0]


def unwind(undos: list[Callable[[], None]]) -> list[Exception]:
    """Run undos, the last first; one that fails does not stop the others. Empties the list."""
    errors: list[Exception] = []
    while undos:
        try:
            undos.pop()()
        except Exception as error:  # noqa: BLE001 - reported by the caller, once all have run
            errors.append(error)
    return errors
