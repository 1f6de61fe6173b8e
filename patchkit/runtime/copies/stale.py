"""What a pass looks for, by identity; and whose it is, where the object itself proves that."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.target import Item
from patchkit.runtime.changes.owners import inside, namespace
from patchkit.runtime.changes.sites import Site
from patchkit.runtime.copies.scope import (
    UNRELATED,
    Keepers,
    UnrelatedOrigin,
    can_be_traced,
    home_of,
    is_defined_at,
    origin_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.runtime.copies.origins import Origins


class StaleValues:
    """What changed attributes held before; without `originals`, only what patches have made."""

    def __init__(self, sites: Iterable[Site], keepers: Keepers, *, originals: bool = True) -> None:
        self.sites = sites = [site for site in sites if site.rebind]
        self._all_sites = keepers.sites
        made = list(_made(sites))
        self.values = {
            id(value): site
            for value, site in (made if originals else _held_by_others(made, keepers))
            if value is not site.current and can_be_traced(value)
        }
        """What the sites held before, by id."""
        old = [site for site in sites if originals and _is_old(site)]
        self.values.update((id(site.original), site) for site in old)
        self.inner = {id(part): site for site in old for part in _inside(site.original)}
        """The functions inside of static methods, class methods and properties among them."""
        self.ours = frozenset(id(part) for value, _ in made for part in (value, *_inside(value)))
        """What patches have made. Whatever it holds, it holds on purpose."""
        self.ids = frozenset((*self.values, *self.inner))

    def site_of(self, value: Any) -> Site | None:
        """Tell a site that held a value, or what the value is the inside of."""
        return self.values.get(id(value)) or self.inner.get(id(value))

    def claims(self, value: Any) -> list[Site]:
        """Every site that has or had a value."""
        return self._claims.get(id(value), [])

    def origin(self, owner: Any, name: str, value: Any) -> Site | UnrelatedOrigin | None:
        """Tell whose value a place has; UNRELATED for no site's, None where nobody can tell."""
        origin: Site | UnrelatedOrigin | None = self.proven(value)
        if origin is None and is_defined_at(value, owner, name):
            return UNRELATED  # a proven one is a copy of the module, `__main__` beside its own name
        origin = origin or self._origins.of(owner, name, value)
        if origin is None and any(self._is_from(site, owner, name) for site in self.claims(value)):
            return UNRELATED
        origin = self._all_sites.leader(owner, name) if origin is None else origin
        return self._onwards(origin) if isinstance(origin, Site) else origin

    def _is_from(self, site: Site, owner: Any, name: str) -> bool:
        is_attribute = not isinstance(site.name, Item)
        return is_attribute and self._origins.leads((site.owner, str(site.name)), (owner, name))

    def is_led(self, owner: Any, name: str, site: Site) -> bool:
        """Whether a place got what it holds from that of a site, as far as the code says."""
        return self._origins.leads((owner, name), (site.owner, str(site.name)))

    def _onwards(self, site: Site) -> Site:
        """Go on from a site without patches that is a copy itself, and was patched as one."""
        if site.layers or isinstance(site.name, Item) or len(self.claims(site.current)) == 1:
            return site
        origin = self._origins.of(site.owner, site.name, site.current)
        return self._onwards(origin) if isinstance(origin, Site) else site

    def is_its_own(self, value: Any, site: Site) -> bool:
        """Whether what holds a value has it from the site, as far as anybody can tell."""
        if self.inner.get(id(value)) is site or self.proven(value) is site:
            return True
        maker, home = origin_of(site.original), home_of(site)
        if value is not site.original:
            return False
        if isinstance(maker, str) and home and maker.partition(".")[0] != home.partition(".")[0]:
            return False  # another package's object
        return not self._origins.is_copy(site.owner, str(site.name))

    def proven(self, value: Any) -> Site | None:
        """Tell the one site that has made a value, or that is the value's own definition."""
        claims = self.claims(value)
        if len(claims) != 1:
            return None
        (site,) = claims
        is_made = any(value is wrapper for wrapper in site.wrappers)
        return site if is_made or is_defined_at(value, site.owner, site.name) else None

    @cached_property
    def _origins(self) -> Origins:
        # It reads source by `ast`, and most passes find no copy whose origin is in doubt.
        from patchkit.runtime.copies.origins import Origins  # noqa: PLC0415

        return Origins(self._all_sites)

    @cached_property
    def _claims(self) -> dict[int, list[Site]]:
        claims: dict[int, dict[Site, None]] = {}
        sites = list(dict.fromkeys((*self._all_sites, *self.sites)))
        first = ((site.original, site) for site in sites if site.own)
        for value, site in (*first, *_made(sites)):
            claims.setdefault(id(value), {})[site] = None
        return {key: list(claimants) for key, claimants in claims.items()}


def _made(sites: Iterable[Site]) -> Iterator[tuple[Any, Site]]:
    for site in sites:
        made = (*site.wrappers, *site.replacements, site.current)
        yield from ((value, site) for value in made if value is not site.original)


def _held_by_others(made: list[tuple[Any, Site]], keepers: Keepers) -> Iterator[tuple[Any, Site]]:
    """Leave out the values that only sites and bodies refer to, as nobody has copied them.

    After most undos none is left, and no module has to be looked through.
    """
    references = Counter(id(value) for value, _ in made)
    for site in keepers.sites:
        references.update(map(id, (*site.wrappers, *site.replacements)))
    bodies = [namespace(sys.modules.get(name)) for name in keepers.bodies]
    for namespace_of_body in {id(body): body for body in bodies}.values():
        references.update(map(id, tuple(namespace_of_body.values())))
    # What looking adds: the name in the loop and the argument. A list holds the object, too.
    (looking,) = (sys.getrefcount(value) - 1 for value in [object()])
    for value, site in made:
        if sys.getrefcount(value) > looking + references[id(value)]:
            yield value, site


def _is_old(site: Site) -> bool:
    changed = site.own and site.original is not site.current
    return changed and can_be_traced(site.original) and not isinstance(site.original, ModuleType)


def _inside(value: Any) -> tuple[Any, ...]:
    return inside(value) if isinstance(value, (staticmethod, classmethod, property)) else ()
