"""Tells the values that a pass looks for, by identity, and whose each of them is."""

from __future__ import annotations

import sys
from collections import Counter
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.target import Item
from patchkit.runtime.changes.owners import inside, namespace
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.scope import (
    UNRELATED,
    Keepers,
    UnrelatedOrigin,
    can_be_copied,
    can_be_traced,
    home_of,
    is_defined_at,
    is_served,
    maker_of,
    origin_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.runtime.copies.origins import Origins


class StaleValues:
    """What changed attributes held before, which is what a pass looks for.

    Args:
        sites: The changed attributes; those that repoint nothing are left out.
        keepers: Those whose copies a pass leaves alone.
        originals: Whether to look for originals too, and not only for what patches have made.
    """

    def __init__(
        self, sites: Iterable[Site], keepers: Keepers, *, originals: bool = True
    ) -> None:
        self.sites = [site for site in sites if site.rebind]
        self._sites = frozenset(self.sites)
        self._all_sites = keepers.sites
        self._bodies = keepers.bodies
        patched = list(_patched_values(self.sites))
        self.values: dict[int, Site] = {}
        """What the sites held before, by id."""
        self.inner: dict[int, Site] = {}
        """The functions inside of static methods, class methods and properties among them."""
        sought: Iterable[tuple[Any, Site]] = patched
        if not originals:
            sought = _held_by_others(patched, keepers)
        for value, site in sought:
            if value is not site.current and can_be_traced(value):
                self.values[id(value)] = site
        if originals:
            for site in filter(_is_old, self.sites):
                self.values[id(site.original)] = site
                for part in _inside(site.original):
                    self.inner[id(part)] = site
        ours: set[int] = set()
        for value, _ in patched:
            ours.add(id(value))
            parts = _inside(value)
            ours.update(map(id, parts))
        self.ours = frozenset(ours)
        """What patches have made. Whatever it holds, it holds on purpose."""
        self.ids = frozenset((*self.values, *self.inner))

    def lies_on_another(self, site: Site) -> bool:
        """Whether a patched site may have got its original from another changed one.

        Args:
            site: Any site.
        """
        if not site.layers or not site.own or not can_be_traced(site.original):
            return False
        is_of_pass = site in self._sites or id(site.original) in self.values
        return is_of_pass and len(self.claims(site.original)) > 1

    def source_of(self, site: Site) -> Site | None:
        """Find the other site that a site got its original from; None where nobody can tell.

        Args:
            site: A site of any attribute or item.

        Returns:
            The other site, which may have lost its patches since.
        """
        value = site.original
        if isinstance(site.owner, (ModuleType, type)) and isinstance(site.name, str):
            origin = self.origin(site.owner, site.name, value)
        else:
            # No code tells of an item, nor of an attribute of an instance.
            origin = self._all_sites.leader(site.owner, site.name)
        if isinstance(origin, Site) and origin is not site:
            return origin
        if origin is UNRELATED:
            return None
        others = [claimant for claimant in self.claims(value) if claimant is not site]
        makers = [other for other in others if self._is_made_at(value, other)]
        if len(makers) != 1:
            return None
        (maker,) = makers
        return self._onwards(maker)

    def _is_made_at(self, value: Any, site: Site) -> bool:
        """Whether a value was made for a site, or defined there; what others have is no sign."""
        if any(value is wrapper for wrapper in site.wrappers):
            return True
        if value is site.current and site.layers:
            is_wrapper = not site.layers[-1].base
            return is_wrapper or maker_of(value) in self._bodies
        if any(value is replacement for replacement in site.replacements):
            return maker_of(value) in self._bodies
        return is_defined_at(value, site.owner, site.name)

    def site_of(self, value: Any) -> Site | None:
        """Return a site that held `value`, or something that `value` is the inside of."""
        key = id(value)
        return self.values.get(key) or self.inner.get(key)

    def claims(self, value: Any) -> list[Site]:
        """Return every site that has or had `value`."""
        return self._claims.get(id(value), [])

    def origin(
        self, owner: Any, name: str, value: Any
    ) -> Site | UnrelatedOrigin | None:
        """Find the changed attribute whose value another attribute holds.

        Args:
            owner: The module or class that has the other one.
            name: Its name.
            value: What it holds.

        Returns:
            The site; UNRELATED where it is no site's, None where nobody can tell.
        """
        site = self.proven(value)
        if site is not None:
            return self._onwards(site)
        if is_defined_at(value, owner, name):
            return UNRELATED  # a proven one is a copy of the module, `__main__` beside its own name
        origin = self._origins.of(owner, name, value)
        if origin is None:
            for claimant in self.claims(value):
                if self._site_comes_from(claimant, owner, name):
                    return UNRELATED
            origin = self._all_sites.leader(owner, name)
        if isinstance(origin, Site):
            return self._onwards(origin)
        return origin

    def _site_comes_from(self, site: Site, owner: Any, name: str) -> bool:
        """Whether the site itself got what it holds from an attribute."""
        if isinstance(site.name, Item):
            return False
        start = (site.owner, site.name)
        return self._origins.leads(start, (owner, name))

    def comes_from(self, owner: Any, name: str, site: Site) -> bool:
        """Whether an attribute got what it holds from a site, as the code that bound it says.

        Args:
            owner: The module or class that has the attribute.
            name: Its name.
            site: The site, which is an attribute, not an item.
        """
        goal = (site.owner, str(site.name))
        return self._origins.leads((owner, name), goal)

    def _onwards(self, site: Site) -> Site:
        """Go on from a site without patches that is a copy itself, and was patched as one."""
        if site.layers or isinstance(site.name, Item):
            return site
        claims = self.claims(site.current)
        if len(claims) == 1:
            return site
        origin = self._origins.of(site.owner, site.name, site.current)
        if not isinstance(origin, Site):
            return site
        return self._onwards(origin)

    def is_its_own(self, value: Any, site: Site) -> bool:
        """Whether what holds a `value` has it from the `site`, as far as anybody can tell."""
        if self.inner.get(id(value)) is site:
            return True
        if self.proven(value) is site:
            return True
        if any(value is wrapper for wrapper in site.wrappers):
            return True  # made here, also where another site lay on it
        if value is not site.original:
            return False
        if is_served(site) or _is_foreign(site):
            return False
        name = str(site.name)
        return not self._origins.is_copy(site.owner, name)

    def proven(self, value: Any) -> Site | None:
        """Return the one site that has made `value`, or that is its own definition.

        None where there is no such site, or more than one has or had the value.
        """
        claims = self.claims(value)
        if len(claims) != 1:
            return None
        (site,) = claims
        is_made = any(value is wrapper for wrapper in site.wrappers)
        if is_made:
            return site
        if is_defined_at(value, site.owner, site.name):
            return site
        return None

    @cached_property
    def _origins(self) -> Origins:
        # It reads source by `ast`, and most passes find no copy whose origin is in doubt.
        from patchkit.runtime.copies.origins import Origins  # noqa: PLC0415

        return Origins(self._all_sites)

    @cached_property
    def _claims(self) -> dict[int, list[Site]]:
        """The sites that have or had a value, by its id; those that had it first before others."""
        claims: dict[int, dict[Site, None]] = {}
        with_repeats = (*self._all_sites, *self.sites)
        sites = list(dict.fromkeys(with_repeats))
        for site in sites:
            if can_be_copied(site):
                for original in (site.original, *site.former_originals):
                    claimants = claims.setdefault(id(original), {})
                    claimants[site] = None
        for value, site in _patched_values(sites):
            claimants = claims.setdefault(id(value), {})
            claimants[site] = None
        return {key: list(claimants) for key, claimants in claims.items()}


def _patched_values(sites: Iterable[Site]) -> Iterator[tuple[Any, Site]]:
    """Yield each value that patches have put on a site, and the site."""
    for site in sites:
        values = (*site.wrappers, *site.replacements, site.current)
        for value in values:
            if value is not site.original:
                yield value, site


def _held_by_others(
    patched: list[tuple[Any, Site]], keepers: Keepers
) -> Iterator[tuple[Any, Site]]:
    """Leave out the values that only sites and bodies refer to, as nobody has copied them.

    After most undos none is left, and no module has to be looked through.
    """
    references = Counter(id(value) for value, _ in patched)
    for site in keepers.sites:
        references.update(map(id, (*site.wrappers, *site.replacements)))
    bodies = [namespace(sys.modules.get(name)) for name in keepers.bodies]
    for namespace_of_body in {id(body): body for body in bodies}.values():
        references.update(map(id, tuple(namespace_of_body.values())))
    # What looking adds: the name in the loop and the argument. A list holds the object, too.
    (looking,) = (sys.getrefcount(value) - 1 for value in [object()])
    for value, site in patched:
        if sys.getrefcount(value) > looking + references[id(value)]:
            yield value, site


def _is_old(site: Site) -> bool:
    """Whether a site had an original that can have been copied, and holds something else now."""
    original = site.original
    if not can_be_copied(site) or original is site.current:
        return False
    if isinstance(original, ModuleType):
        return False
    return can_be_traced(original)


def _is_foreign(site: Site) -> bool:
    """Whether the original of a site says that it was made in another package."""
    maker = origin_of(site.original)
    home = home_of(site)
    if not home:
        return False
    if not isinstance(maker, str):
        return False
    makers_package, _, _ = maker.partition(".")
    home_package, _, _ = home.partition(".")
    return makers_package != home_package


def _inside(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (staticmethod, classmethod, property)):
        return inside(value)
    return ()
