"""What a pass looks for, by identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patchkit.rebind.scope import can_be_traced, is_at_home

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.changes.sites import Site


@dataclass(frozen=True)
class Wanted:
    """
    Values to look for.

    Args:
        sites: where they were.
        stale: what the sites held before, by id.
        inner: the functions inside of static methods, class methods and properties that the sites
            held before, by id.
        ours: ids of what patches have made. Whatever it holds, it holds on purpose.
        ids: of stale and inner.

    """

    sites: Sequence[Site]
    stale: dict[int, Site]
    inner: dict[int, Site]
    ours: frozenset[int]
    ids: frozenset[int]

    @classmethod
    def of(cls, sites: Sequence[Site], *, originals: bool = True) -> Wanted:
        """
        Look for what these sites held before.

        Args:
            sites: changed attributes.
            originals: also what they held before any patch.

        """
        old = [site for site in sites if originals and _is_old(site)]
        stale = {**_made(sites), **{id(site.original): site for site in old}}
        inner = {id(part): site for site in old for part in _inside(site.original)}
        ours = {id(part) for value, _ in _values(sites) for part in (value, *_inside(value))}
        return cls(sites, stale, inner, frozenset(ours), frozenset((*stale, *inner)))

    def site_of(self, value: Any) -> Site | None:
        """Tell the site that held a value, or what the value is the inside of."""
        return self.stale.get(id(value)) or self.inner.get(id(value))


def _made(sites: Iterable[Site]) -> dict[int, Site]:
    return {
        id(value): site
        for value, site in _values(sites)
        if value is not site.current and can_be_traced(value)
    }


def _values(sites: Iterable[Site]) -> Iterator[tuple[Any, Site]]:
    for site in sites:
        made = (*site.wrappers, *site.replacements, site.current)
        yield from ((value, site) for value in made if value is not site.original)


def _is_old(site: Site) -> bool:
    changed = site.original is not site.current
    return changed and can_be_traced(site.original) and is_at_home(site)


def _inside(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return tuple(part for part in (value.fget, value.fset, value.fdel) if part is not None)
    return ()
