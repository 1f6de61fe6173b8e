"""What a pass looks for, by identity; and whose it is, where the object itself proves that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.sites import Site
from patchkit.copies.origins import ELSEWHERE, Origins
from patchkit.copies.scope import can_be_traced, is_at_home, is_defined_at, is_definition
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.changes.sites import Sites
    from patchkit.copies.origins import Elsewhere


@dataclass(frozen=True)
class Wanted:
    """
    Values to look for.

    Args:
        sites: where they were.
        all_sites: every changed attribute of this process.
        stale: what the sites held before, by id.
        inner: the functions inside of static methods, class methods and properties that the sites
            held before, by id.
        ours: ids of what patches have made. Whatever it holds, it holds on purpose.
        ids: of stale and inner.

    """

    sites: Sequence[Site]
    all_sites: Sites
    stale: dict[int, Site]
    inner: dict[int, Site]
    ours: frozenset[int]
    ids: frozenset[int]

    @classmethod
    def of(cls, sites: Sequence[Site], all_sites: Sites, *, originals: bool = True) -> Wanted:
        """
        Look for what these sites held before.

        Args:
            sites: changed attributes.
            all_sites: every changed attribute of this process.
            originals: also what they held before any patch.

        """
        old = [site for site in sites if originals and _is_old(site)]
        made = {id(value): site for value, site in _made(sites) if _can_be_stale(value, site)}
        stale = {**made, **{id(site.original): site for site in old}}
        inner = {id(part): site for site in old for part in _inside(site.original)}
        ours = {id(part) for value, _ in _made(sites) for part in (value, *_inside(value))}
        ids = frozenset((*stale, *inner))
        return cls(sites, all_sites, stale, inner, frozenset(ours), ids)

    def site_of(self, value: Any) -> Site | None:
        """Tell a site that held a value, or what the value is the inside of."""
        return self.stale.get(id(value)) or self.inner.get(id(value))

    def claims(self, value: Any) -> list[Site]:
        """Every site that has or had a value."""
        return self._claims.get(id(value), [])

    def origin(self, owner: Any, name: str, value: Any) -> Site | Elsewhere | None:
        """
        Tell which site a place got its value from.

        Args:
            owner: a module or a class.
            name: its attribute.
            value: what it holds, one of those that are looked for.

        Returns:
            The site; ELSEWHERE where it is none; None where nobody can tell.

        """
        found: Site | Elsewhere | None = self.proven(value)
        if found is None and is_defined_at(value, owner, name):
            return ELSEWHERE  # a proven one is a copy of the module, `__main__` beside its own name
        found = found or self._origins.of(owner, name, value)
        if found is None and any(self._is_from(site, owner, name) for site in self.claims(value)):
            return ELSEWHERE
        found = self.all_sites.leader(owner, name) if found is None else found
        return self._onwards(found) if isinstance(found, Site) else found

    def _is_from(self, site: Site, owner: Any, name: str) -> bool:
        """Whether the target itself has what it holds from a place."""
        own = None if isinstance(site.name, Item) else (site.owner, site.name)
        return own is not None and self._origins.leads(own, (owner, name))

    def is_led(self, owner: Any, name: str, site: Site) -> bool:
        """Whether a place got what it holds from that of a site, as far as the code says."""
        return self._origins.leads((owner, name), (site.owner, str(site.name)))

    def _onwards(self, site: Site) -> Site:
        """Go on from a site without patches that is a copy itself, and was patched as one."""
        if site.layers or isinstance(site.name, Item) or len(self.claims(site.current)) == 1:
            return site
        found = self._origins.of(site.owner, site.name, site.current)
        return self._onwards(found) if isinstance(found, Site) else site

    def is_its_own(self, value: Any, site: Site) -> bool:
        """Whether what holds a value has it from the site, as far as anybody can tell."""
        if self.inner.get(id(value)) is site or self.proven(value) is site:
            return True
        if value is not site.original or not is_at_home(site):
            return False
        return not self._origins.is_copy(site.owner, str(site.name))

    def proven(self, value: Any) -> Site | None:
        """Tell the one site that has made a value, or that is the value's own definition."""
        claims = self.claims(value)
        if len(claims) != 1:
            return None
        (site,) = claims
        is_made = any(value is one for one in site.wrappers)
        return site if is_made or is_definition(value, site) else None

    @cached_property
    def _origins(self) -> Origins:
        return Origins(self.all_sites)

    @cached_property
    def _claims(self) -> dict[int, list[Site]]:
        claims: dict[int, list[Site]] = {}
        sites = list(dict.fromkeys((*self.all_sites, *self.sites)))
        first = ((site.original, site) for site in sites if site.own)
        for value, site in (*first, *_made(sites)):
            there = claims.setdefault(id(value), [])
            if site not in there:
                there.append(site)
        return claims


def _made(sites: Sequence[Site]) -> Iterator[tuple[Any, Site]]:
    for site in sites:
        made = (*site.wrappers, *site.replacements, site.current)
        yield from ((value, site) for value in made if value is not site.original)


def _can_be_stale(value: Any, site: Site) -> bool:
    return value is not site.current and can_be_traced(value)


def _is_old(site: Site) -> bool:
    changed = site.own and site.original is not site.current
    return changed and can_be_traced(site.original) and not isinstance(site.original, ModuleType)


def _inside(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return tuple(part for part in (value.fget, value.fset, value.fdel) if part is not None)
    return ()
