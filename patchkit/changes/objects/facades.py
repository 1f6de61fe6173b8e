"""
Things that are no container, seen as one: what a change puts in takes effect where it has to.

A facade is an owner for a `Site`: items are read, set and deleted. Facades of the same thing are
equal, and changes of one process share one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from patchkit.changes.resolve import MISSING, Location
from patchkit.target import Item

if TYPE_CHECKING:
    from patchkit.changes.sites import Sites

AnyFacade = TypeVar("AnyFacade", bound="Facade")


class Facade:
    """
    One of them.

    Args:
        thing: what stands behind.
        name: for messages.

    """

    def __init__(self, thing: Any, name: str) -> None:
        self.thing = thing
        self.__name__ = name
        self.__module__ = getattr(thing, "__module__", "")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.thing is self.thing

    def __hash__(self) -> int:
        return hash((type(self), id(self.thing)))

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError

    def __delitem__(self, key: Any) -> None:
        raise NotImplementedError

    def at(self, key: Any) -> Location:
        """Return the location of an item, which may be missing."""
        try:
            value = self[key]
        except LookupError:
            value = MISSING
        return Location(self, Item(key), value, value is not MISSING)


def shared(sites: Sites, facade: AnyFacade) -> AnyFacade:
    """Return the facade that earlier changes of the same thing have used, else this one."""
    owners = (site.owner for site in sites if isinstance(site.owner, Facade))
    return next((owner for owner in owners if owner == facade), facade)  # type: ignore[return-value]
