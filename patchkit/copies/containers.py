"""Copies in the containers that a row declares: dict, list, attributes of an object."""

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

_SETS = (set, frozenset)


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
    owner = None if isinstance(container, _SETS) else container
    for words, step, value in list(_items(container)):
        if value is not site.current and id(value) in stale.values:
            claims = [claimant for claimant in stale.claims(value) if name in claimant.rebind]
            if claims == [site]:
                yield Holder(name + words, site, owner, step, place.module)
            elif site in claims:
                yield Holder(f"{name}{words} (nobody can tell which target it is)", site)


def _items(container: Any) -> Iterator[tuple[str, Step, Any]]:
    if isinstance(container, dict):
        for key, value in dict.items(container):  # a subclass may have its own idea of `items`
            yield f"[{shown(key)}]", Item(key), value
    elif isinstance(container, (list, tuple)):
        for at, value in enumerate(container):
            yield f"[{at}]", Item(at), value
    elif isinstance(container, _SETS):
        for value in container:
            yield " (a member of a set; change it in an AfterImport)", "", value
    else:
        for name, value in namespace(container).items():
            yield f".{name}", name, value
