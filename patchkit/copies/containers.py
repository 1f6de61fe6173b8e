"""Copies in the containers that a row declares: dict, list, set, attributes of an object."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import locate, namespace
from patchkit.copies.holders import shown
from patchkit.copies.search import Holder
from patchkit.errors import TargetError
from patchkit.rows.target import Item, Step, Target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.changes.sites import Site
    from patchkit.copies.stale import StaleValues


class Member:
    """
    One member of a set, as an item that can be read and written.

    Args:
        members: the set.
        value: what it is now.

    """

    def __init__(self, members: set[Any], value: Any) -> None:
        self._members = members
        self._value = value

    def __getitem__(self, _: object) -> Any:
        if not any(member is self._value for member in self._members):
            raise LookupError
        return self._value

    def __setitem__(self, _: object, value: Any) -> None:
        self._members.remove(self._value)
        self._members.add(value)
        self._value = value


def copies_in(stale: StaleValues) -> Iterator[Holder]:
    """Find the copies in every container that a row has declared for its target."""
    for site in stale.sites:
        for name in site.rebind:
            if ":" in name:
                yield from _copies(name, site, stale)


def _copies(name: str, site: Site, stale: StaleValues) -> Iterator[Holder]:
    place = Target.parse(name)
    module = sys.modules.get(place.module)
    if module is None:
        return  # it has copied nothing yet
    try:
        container = locate(module, place.qualname).value
    except TargetError as error:
        yield Holder(str(error), site)
        return
    for words, owner, step, value in list(_places(container)):
        if value is not site.current and id(value) in stale.values:
            claims = [one for one in stale.claims(value) if name in one.rebind]
            if claims == [site]:
                yield Holder(name + words, site, owner, step, place.module)
            elif site in claims:
                yield Holder(f"{name}{words} (nobody can tell which target it is)", site)


def _places(container: Any) -> Iterator[tuple[str, Any, Step, Any]]:
    if isinstance(container, dict):
        for key, value in dict.items(container):  # a subclass may have its own idea of `items`
            yield f"[{shown(key)}]", container, Item(key), value
    elif isinstance(container, (list, tuple)):
        for at, value in enumerate(container):
            yield f"[{at}]", container, Item(at), value
    elif isinstance(container, (set, frozenset)):
        for value in container:
            yield " (a member)", Member(container, value), Item(0), value  # type: ignore[arg-type]
    else:
        for name, value in namespace(container).items():
            yield f".{name}", container, name, value
