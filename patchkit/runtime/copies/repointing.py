"""Runs one pass: finds the copies, repoints those that may be, and reports the others."""

import sys
from collections.abc import Iterable
from typing import Any

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import MISSING, words, write
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.holders import KEY
from patchkit.runtime.copies.scope import (
    Holder,
    Keepers,
    Outcome,
    SearchScope,
    home_of,
    is_within,
    modules_named_by,
)
from patchkit.runtime.copies.search import CopySearch
from patchkit.runtime.copies.stale import StaleValues


def repoint(sites: Iterable[Site], scope: SearchScope, keepers: Keepers) -> Outcome:
    """Repoint the copies of what attributes held before; the sites carry them along after that.

    Args:
        sites: The changed attributes.
        scope: The modules to look through.
        keepers: Those whose copies are left alone.

    Returns:
        The copies that were found.
    """
    stale = StaleValues(sites, keepers)
    near: frozenset[str] = frozenset()
    if not scope.late:
        near = modules_named_by(stale.sites)
    search = CopySearch(stale, keepers, late=scope.late, near=near)
    run = _Pass(stale, keepers)
    if stale.ids:
        run.settle(search.through(dict.fromkeys((*scope.modules, *near))))
    for site in stale.sites:
        run.take_over(site)
    moved = run.carry()
    if moved:
        later = repoint(moved, scope, keepers)
        run.outcome.rebound.extend(later.rebound)
        run.outcome.left.extend(later.left)
    return run.outcome


def restore(
    sites: Iterable[Site],
    scope: SearchScope,
    keepers: Keepers,
    *,
    deep: bool = False,
) -> Outcome:
    """Repoint the copies of what a layer has made that was taken off.

    Args:
        sites: The attributes that it was taken off.
        scope: The modules to look through.
        keepers: Those whose copies are left alone.
        deep: Whether to look for what is out of reach, too.

    Returns:
        The copies that were repointed, and those that are out of scope; what else holds one only
        where it was looked for.
    """
    stale = StaleValues(sites, keepers, originals=False)
    search = CopySearch(stale, keepers, late=True, deep=deep)
    run = _Pass(stale, keepers)
    if stale.ids:
        run.settle(search.through(scope.modules))
    moved = run.carry()
    if moved:
        later = restore(moved, scope, keepers, deep=deep)
        run.outcome.rebound.extend(later.rebound)
        run.outcome.left.extend(later.left)
    for site in stale.sites:
        if not site.layers and site.own:
            run.rejoin(site)
    return run.outcome


class _Pass:
    """One pass, and what it has found so far."""

    def __init__(self, stale: StaleValues, keepers: Keepers) -> None:
        self.stale = stale
        self.outcome = Outcome([], [])
        self._keepers = keepers

    def settle(self, holders: Iterable[Holder]) -> None:
        """Repoint the copies in scope, and report the others."""
        for holder in holders:
            rebind = holder.site.rebind
            if holder.owner is None:
                self._leave(holder)
            elif not is_within(holder.module, rebind):
                self._leave(holder, " (out of scope)")
            elif self._keepers.keeps(holder.module, rebind):
                self._leave(holder, " (of a pack)")
            else:
                self._write(holder)

    def take_over(self, site: Site) -> None:
        """Let the copies of a site go with it, which went with the site's own origin so far."""
        leader = self._keepers.sites.leader(site.owner, site.name)
        if leader is None or isinstance(site.name, Item):
            return
        for owner, step, value in leader.followers():
            if step is KEY:
                continue  # code does not tell by which name a key was given
            if value is site.current:
                continue
            named_owner, name = _named(owner, step)
            if self.stale.comes_from(named_owner, name, site):
                self._write(Holder(words(named_owner, name), site, owner, step))

    def carry(self) -> list[Site]:
        """Have patched attributes and items lie on what others that they were got from hold now.

        Returns:
            The sites that hold another value since.
        """
        moved: list[Site] = []
        sites = list(self._keepers.sites)
        if len(sites) == 1:
            return moved
        for site in filter(self.stale.lies_on_another, sites):
            label = words(site.owner, site.name)
            source = self.stale.source_of(site)
            if source is None or source.current is MISSING:
                continue
            holder = Holder(label, source, site.owner, site.name)
            module = home_of(site) or site.home
            if not is_within(module, source.rebind):
                self._leave(holder, " (out of scope)")
                continue
            self._keepers.sites.follow(source, site.owner, site.name)
            if source.current is site.original:
                continue
            refused = site.carry(source.current)
            for refusal in refused:
                self.outcome.left.append(holder._replace(words=refusal))
            moved.append(site)
            self.outcome.rebound.append(holder)
        return moved

    def rejoin(self, site: Site) -> None:
        """Let a site without patches, that is a copy itself, go with its own origin again."""
        name = site.name
        value = site.current
        claims = self.stale.claims(value)
        if isinstance(name, Item):
            return
        if all(value is claimant.current for claimant in claims):
            return
        origin = self.stale.origin(site.owner, name, value)
        if not isinstance(origin, Site) or value is origin.current:
            return
        if not is_within(home_of(site), origin.rebind):
            return
        copies: list[tuple[Any, TargetStep]] = [(site.owner, name)]
        copies += [(owner, step) for owner, step, _ in site.followers()]
        for owner, step in copies:
            self._write(Holder(words(owner, step), origin, owner, step))

    def _write(self, holder: Holder) -> None:
        """Repoint a copy, if it can be."""
        site = holder.site
        if site.current is MISSING:
            self._leave(holder, " (what was added stays where it was copied to)")
            return
        # First: what is torn off in the middle is carried back too.
        self._keepers.sites.follow(site, holder.owner, holder.step)
        refusal = _write_current(holder.owner, holder.step, site)
        if refusal is None:
            self.outcome.rebound.append(holder)
        else:
            site.forget(holder.owner, holder.step)
            self._leave(holder, f" ({type(refusal).__name__}: {refusal})")

    def _leave(self, holder: Holder, why: str = "") -> None:
        self.outcome.left.append(holder._replace(words=holder.words + why))


def _named(owner: Any, step: TargetStep) -> tuple[Any, str]:
    """Return the module or class, and the name, of a copy that is an attribute."""
    if isinstance(owner, dict):  # a module's
        owner = sys.modules.get(str(owner.get("__name__")))
    if isinstance(step, Item):
        return owner, str(step.key)
    return owner, step


def _write_current(owner: Any, step: TargetStep, site: Site) -> Exception | None:
    """Write what a site holds by now; return what a class raises instead."""
    try:
        while True:
            value = site.current
            write(owner, step, value)
            if value is site.current:
                return None
    except Exception as error:  # noqa: BLE001 - the place's own
        return error
