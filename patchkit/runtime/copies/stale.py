"""Tells which values a pass searches for, and which changed attribute each of them is from."""

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
    """The former values of changed attributes, which a pass searches for.

    A site claims all values that it has or has had. Several sites may claim one object; then the
    code that has bound a copy decides which of them it is from.

    Args:
        sites: The changed attributes; those that repoint nothing are left out.
        keepers: The modules whose copies stay.
        originals: Whether to search for originals too, and not only for values of patches.
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
        """The site of each former value, by the value's id."""
        self.inner: dict[int, Site] = {}
        """The site of each function inside an original static method, class method or property."""
        sought: Iterable[tuple[Any, Site]] = patched
        if not originals:  # after an undo, most values have no copy any more
            sought = _referred_to_elsewhere(patched, keepers)
        for value, site in sought:
            if value is not site.current and can_be_traced(value):
                self.values[id(value)] = site
        # After the values of patches: an object that is both counts as an original.
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
        """The ids of values of patches. If one refers to an original, that is on purpose."""
        self.ids = frozenset((*self.values, *self.inner))

    def may_be_copy(self, site: Site) -> bool:
        """Whether the original of a patched site may be a copy from another site, which has it too.

        Args:
            site: Any site.
        """
        if not site.layers or not site.own or not can_be_traced(site.original):
            return False
        # Other sites than those of this pass matter only if their original is a value it seeks.
        is_of_pass = site in self._sites or id(site.original) in self.values
        return is_of_pass and len(self.claims(site.original)) > 1

    def source_of(self, site: Site) -> Site | None:
        """Find the site that another site's original was copied from.

        Args:
            site: A site of any attribute or item.

        Returns:
            The source, which may have no patches any more; None if there is none, or if it is
            uncertain.
        """
        value = site.original
        if isinstance(site.owner, (ModuleType, type)) and isinstance(site.name, str):
            origin = self.origin(site.owner, site.name, value)
        else:
            # For an item the code shows nothing: its source is the site that it is repointed with.
            origin = self._all_sites.leader(site.owner, site.name)
        if isinstance(origin, Site) and origin is not site:
            return origin
        if origin is UNRELATED:
            return None
        # The code does not show the source. But if only one other site can have had the value
        # first, the value is from there.
        others = [claimant for claimant in self.claims(value) if claimant is not site]
        makers = [other for other in others if self._is_made_at(value, other)]
        if len(makers) != 1:
            return None
        (maker,) = makers
        return self._behind_unpatched(maker)

    def _is_made_at(self, value: Any, site: Site) -> bool:
        """Whether a value was first stored at a site: by a patch of it, or as its definition.

        A wrapper is made for one site. An object of a body counts only if the body defines it,
        since bodies also store objects of other modules.
        """
        if any(value is wrapper for wrapper in site.wrappers):
            return True
        if value is site.current and site.layers:
            # The outermost layer has made it: unless that is a Replace, the value is a wrapper.
            is_wrapper = not site.layers[-1].base
            return is_wrapper or maker_of(value) in self._bodies
        if any(value is replacement for replacement in site.replacements):
            return maker_of(value) in self._bodies
        return is_defined_at(value, site.owner, site.name)

    def site_of(self, value: Any) -> Site | None:
        """Return a site that had `value`, or a method or property with it inside; else None."""
        key = id(value)
        return self.values.get(key) or self.inner.get(key)

    def claims(self, value: Any) -> list[Site]:
        """Return all sites that have or have had `value`."""
        return self._claims.get(id(value), [])

    def origin(
        self, owner: Any, name: str, value: Any
    ) -> Site | UnrelatedOrigin | None:
        """Find the changed attribute that the value of another attribute was bound from.

        Args:
            owner: The module or class that has the other attribute.
            name: The name of that attribute.
            value: Its value.

        Returns:
            The site; UNRELATED if it was not bound from any, None if that is uncertain.
        """
        site = self.proven(value)
        if site is not None:
            return self._behind_unpatched(site)
        if is_defined_at(value, owner, name):
            return UNRELATED  # it is the definition itself, and not a copy of it
        origin = self._origins.of(owner, name, value)
        if origin is None:
            # A claimant may be a copy of this attribute, and not the other way round.
            for claimant in self.claims(value):
                if self._is_site_bound_from(claimant, owner, name):
                    return UNRELATED
            origin = self._all_sites.leader(owner, name)
        if isinstance(origin, Site):
            return self._behind_unpatched(origin)
        return origin

    def _is_site_bound_from(self, site: Site, owner: Any, name: str) -> bool:
        """Whether the code binds a site from an attribute: the site is a copy of that."""
        if isinstance(site.name, Item):
            return False
        start = (site.owner, site.name)
        return self._origins.leads(start, (owner, name))

    def is_bound_from(self, owner: Any, name: str, site: Site) -> bool:
        """Whether an attribute was bound from a site, according to the code that bound it.

        Args:
            owner: The module or class that has the attribute.
            name: Its name.
            site: The site, which is an attribute, not an item.
        """
        goal = (site.owner, str(site.name))
        return self._origins.leads((owner, name), goal)

    def _behind_unpatched(self, site: Site) -> Site:
        """Return the source of a site that has no patches any more and is a copy itself.

        Any other site is returned as it is.
        """
        if site.layers or isinstance(site.name, Item):
            return site
        claims = self.claims(site.current)
        if len(claims) == 1:  # no other site has the value
            return site
        origin = self._origins.of(site.owner, site.name, site.current)
        if not isinstance(origin, Site):
            return site
        return self._behind_unpatched(origin)

    def is_certainly_from(self, value: Any, site: Site) -> bool:
        """Whether a copy of `value` is certainly from the `site`, whatever the code says.

        Args:
            value: The value of the copy.
            site: A site that claims the value.
        """
        if self.inner.get(id(value)) is site:
            return True
        if self.proven(value) is site:
            return True
        if any(value is wrapper for wrapper in site.wrappers):
            return True  # made for this site, even if others have it as their original
        if value is not site.original:
            return False
        # An original that was made elsewhere may have been copied from there.
        if is_served(site) or _is_foreign(site):
            return False
        # The site itself may be a copy of another attribute.
        name = str(site.name)
        return not self._origins.is_copy(site.owner, name)

    def proven(self, value: Any) -> Site | None:
        """Return the one site that `value` was made for (by Wrap), or where it is defined.

        A copy of such a value is from this site, whatever the code says. None if there is no such
        site, or if more than one site claims the value.
        """
        claims = self.claims(value)
        if len(claims) != 1:
            return None
        (site,) = claims
        is_made_for_site = any(value is wrapper for wrapper in site.wrappers)
        if is_made_for_site:
            return site
        if is_defined_at(value, site.owner, site.name):
            return site
        return None

    @cached_property
    def _origins(self) -> Origins:
        """The origins of attributes, made only in a pass that needs them: this imports `ast`."""
        from patchkit.runtime.copies.origins import Origins  # noqa: PLC0415

        return Origins(self._all_sites)

    @cached_property
    def _claims(self) -> dict[int, list[Site]]:
        """For each value, by id, the sites that have or have had it.

        Those that have it as an original come before those that got it from a patch.
        """
        claims: dict[int, dict[Site, None]] = {}
        # (A site of this pass may be dropped from all sites: its module was executed anew.)
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
    """Yield each value of a site that is from patches, and the site."""
    for site in sites:
        values = (*site.wrappers, *site.replacements, site.current)
        for value in values:
            if value is not site.original:
                yield value, site


def _referred_to_elsewhere(
    patched: list[tuple[Any, Site]], keepers: Keepers
) -> Iterator[tuple[Any, Site]]:
    """Select the values that other objects than sites and bodies refer to: they may be copied.

    Reference counts decide. After most undos none is left, so that no module has to be searched.

    Args:
        patched: Values of patches, with their sites.
        keepers: The bodies, and all sites of this process.
    """
    references = Counter(id(value) for value, _ in patched)
    for site in keepers.sites:
        references.update(map(id, (*site.wrappers, *site.replacements)))
    bodies = [namespace(sys.modules.get(name)) for name in keepers.bodies]
    # Each namespace once: a module may be there under several names.
    for namespace_of_body in {id(body): body for body in bodies}.values():
        references.update(map(id, tuple(namespace_of_body.values())))
    # `getrefcount` also counts the loop variable below and its own argument. How many references
    # these are is measured with an object that nothing else refers to but a list: -1 for that list.
    # (What the list `patched` refers to is in `references` already.)
    (by_this_loop,) = (sys.getrefcount(value) - 1 for value in [object()])
    for value, site in patched:
        if sys.getrefcount(value) > by_this_loop + references[id(value)]:
            yield value, site


def _is_old(site: Site) -> bool:
    """Whether the original of a site is outdated, and other code may have copied it."""
    original = site.original
    if not can_be_copied(site) or original is site.current:
        return False
    if isinstance(original, ModuleType):
        return False
    return can_be_traced(original)


def _is_foreign(site: Site) -> bool:
    """Whether the original of a site was defined in another package than the site's."""
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
    """Return the functions in a static method, class method or property; else nothing."""
    if isinstance(value, (staticmethod, classmethod, property)):
        return inside(value)
    return ()
