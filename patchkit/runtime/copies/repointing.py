"""Runs a pass: finds the copies of changed attributes, repoints or reports each of them."""

import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import MISSING, namespace, words, write
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.holders import KEY
from patchkit.runtime.copies.scope import (
    Holder,
    Keepers,
    Outcome,
    SearchScope,
    home_of,
    is_within,
    maker_of,
    still_on_original,
    untraced_targets,
)
from patchkit.runtime.copies.search import CopySearch
from patchkit.runtime.copies.stale import StaleValues


def repoint(sites: Iterable[Site], scope: SearchScope, keepers: Keepers) -> Outcome:
    """Set the copies of changed attributes to the new values.

    Every copy is registered with its site, which repoints it from now on when the value changes.

    Args:
        sites: The changed attributes.
        scope: The modules to search.
        keepers: The modules whose copies stay.

    Returns:
        The copies that were found.
    """
    stale = StaleValues(sites, keepers)
    defining_modules: frozenset[str] = frozenset()
    if not scope.late:
        # What nobody else referred to after the import, no decorator has kept.
        shared = [site for site in stale.sites if site.shared]
        defining_modules = _defining_modules(shared)
    search = CopySearch(stale, keepers, late=scope.late, near=defining_modules)
    copies_pass = _Pass(stale, keepers)
    if stale.ids:
        with_repeats = (*scope.modules, *defining_modules)
        modules = dict.fromkeys(with_repeats)
        copies_pass.settle(search.through(modules))
    for site in stale.sites:
        copies_pass.take_over(site)
    updated_sites = copies_pass.update_patched_copies()
    if updated_sites:  # these have new values now, and may have copies themselves
        later = repoint(updated_sites, scope, keepers)
        copies_pass.outcome.rebound.extend(later.rebound)
        copies_pass.outcome.left.extend(later.left)
    return copies_pass.outcome


def remarks(
    targets: Sequence[tuple[str, Site]],
    outcome: Outcome,
    others: Iterable[Site],
    *,
    late: bool,
) -> dict[str, Any]:
    """Collect what the journal says of the copies of some targets.

    Args:
        targets: The targets, each with its changed attribute.
        outcome: The copies that were repointed, and those that could not be.
        others: Attributes that changed along with these, and that have copies, too.
        late: Whether copies may have been made before the change.

    Returns:
        Facts by name: `rebound` and `out_of_reach`, the copies in words; and `untraced`, by target
        why copies were not looked for, if there is any.
    """
    sites = [site for _, site in targets]
    concerned = {*sites, *others}
    rebound = [copy.words for copy in outcome.rebound if copy.site in concerned]
    out_of_reach = [copy.words for copy in outcome.left if copy.site in concerned]
    for site in sites:
        out_of_reach += still_on_original(site)
    facts: dict[str, Any] = {"rebound": rebound, "out_of_reach": out_of_reach}
    reasons = untraced_targets(targets)
    if late and reasons:
        facts["untraced"] = reasons
    return facts


def _defining_modules(sites: Collection[Site]) -> frozenset[str]:
    """Return the modules of decorators that may have kept the targets.

    They were loaded before the targets' modules, so they cannot have imported from these, and would
    not be searched for copies. But a decorator may have put a target into a registry there.

    Args:
        sites: The changed attributes.

    Returns:
        The names of those modules, as far as they lie in packages whose copies are repointed.
    """
    makers: set[str] = set()
    packages: set[str] = set()
    for site in sites:
        packages.update(site.rebind)
    for home in set(map(home_of, sites)):
        for value in tuple(namespace(sys.modules.get(home)).values()):
            name_of_module = maker_of(value)
            if isinstance(name_of_module, str):
                makers.add(name_of_module)
    near: set[str] = set()
    for name in makers:
        if is_within(name, packages):
            near.add(name)
    return frozenset(near)


def restore(
    sites: Iterable[Site],
    scope: SearchScope,
    keepers: Keepers,
    *,
    deep: bool = False,
) -> Outcome:
    """Set copies of values of a patch to the restored values, after the patch was undone.

    Args:
        sites: The attributes that the patch had changed.
        scope: The modules to search.
        keepers: The modules whose copies stay.
        deep: Whether to search also for copies that are out of reach.

    Returns:
        The copies that were found.
    """
    # Originals are right again. And by now, any module may have copied the patch's values.
    stale = StaleValues(sites, keepers, originals=False)
    search = CopySearch(stale, keepers, late=True, deep=deep)
    copies_pass = _Pass(stale, keepers)
    if stale.ids:
        copies_pass.settle(search.through(scope.modules))
    updated_sites = copies_pass.update_patched_copies()
    if updated_sites:  # as in `repoint`
        later = restore(updated_sites, scope, keepers, deep=deep)
        copies_pass.outcome.rebound.extend(later.rebound)
        copies_pass.outcome.left.extend(later.left)
    for site in stale.sites:
        # (An inherited attribute was deleted with its last layer.)
        if not site.layers and site.own:
            copies_pass.rejoin(site)
    return copies_pass.outcome


class _Pass:
    """One pass, with the copies that it has found so far.

    Args:
        stale: The values to search for.
        keepers: The modules whose copies stay.
    """

    def __init__(self, stale: StaleValues, keepers: Keepers) -> None:
        self.stale = stale
        self.outcome = Outcome([], [])
        self._keepers = keepers

    def settle(self, holders: Iterable[Holder]) -> None:
        """Repoint the copies in scope, and report the others."""
        for holder in holders:
            rebind = holder.site.rebind
            if holder.owner is None:
                self._report(holder)
            elif not is_within(holder.module, rebind):
                self._report(holder, " (out of scope)")
            elif self._keepers.keeps(holder.module, rebind):
                self._report(holder, " (of a pack)")
            else:
                self._write(holder)

    def take_over(self, site: Site) -> None:
        """Have copies that were bound from a site follow the site, and no longer the site's source.

        Before the site had patches of its own, it was a copy of the source like them, and all of
        them were repointed with the source.
        """
        leader = self._keepers.sites.leader(site.owner, site.name)
        if leader is None or isinstance(site.name, Item):
            return
        for owner, step, value in leader.followers():
            if step is KEY:
                continue  # the code does not show where a key is from
            named_owner, name = _named(owner, step)
            if not self.stale.is_bound_from(named_owner, name, site):
                continue
            # Two patches may have put the same object at both sites: then it stays.
            if value is site.current:
                self._keepers.sites.follow(site, owner, step)
            else:
                self._write(Holder(words(named_owner, name), site, owner, step))

    def update_patched_copies(self) -> list[Site]:
        """Update the patched sites that are copies of a changed site: they get a new original.

        Returns:
            The sites whose values have changed by that.
        """
        updated_sites: list[Site] = []
        sites = list(self._keepers.sites)
        if len(sites) == 1:
            return updated_sites  # there is no other one to be a copy of
        for site in filter(self.stale.may_be_copy, sites):
            label = words(site.owner, site.name)
            source = self.stale.source_of(site)
            if source is None or source.current is MISSING:
                continue
            holder = Holder(label, source, site.owner, site.name)
            # `home_of` is "" for an item of a dict; its row names it in the module `site.home`.
            module = home_of(site) or site.home
            if not is_within(module, source.rebind):
                self._report(holder, " (out of scope)")
                continue
            self._keepers.sites.follow(source, site.owner, site.name)
            if source.current is site.original:
                continue
            refused = site.set_original(source.current)
            for refusal in refused:
                self.outcome.left.append(holder._replace(words=refusal))
            updated_sites.append(site)
            self.outcome.rebound.append(holder)
        return updated_sites

    def rejoin(self, site: Site) -> None:
        """Repoint a site with its source again, now that it has no patches of its own.

        The copies of the site follow the source, too. Nothing is done if the site is not a copy.
        """
        name = site.name
        value = site.current
        if isinstance(name, Item):
            return  # the code shows no source of an item
        # The source is one of the sites that have had the value. If all of them have it still, the
        # site has the value of its source already.
        claims = self.stale.claims(value)
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
        """Set a copy to the value of its site, or report why that is not possible."""
        site = holder.site
        if site.current is MISSING:  # a patch had added the attribute, and was undone
            self._report(holder, " (what was added stays where it was copied to)")
            return
        # Registered first, so that undo restores it even after an interruption.
        self._keepers.sites.follow(site, holder.owner, holder.step)
        refusal = _write_current(holder.owner, holder.step, site)
        if refusal is None:
            self.outcome.rebound.append(holder)
        else:
            self._keepers.sites.unfollow(site, holder.owner, holder.step)
            self._report(holder, f" ({type(refusal).__name__}: {refusal})")

    def _report(self, holder: Holder, why: str = "") -> None:
        """Report a copy that is not repointed."""
        self.outcome.left.append(holder._replace(words=holder.words + why))


def _named(owner: Any, step: TargetStep) -> tuple[Any, str]:
    """Return the module or class that has a copy, and the attribute's name.

    A module's attribute is repointed as an item of its `__dict__`: that is turned back here.
    """
    if isinstance(owner, dict):  # a module's
        owner = sys.modules.get(str(owner.get("__name__")))
    if isinstance(step, Item):
        return owner, str(step.key)
    return owner, step


def _write_current(owner: Any, step: TargetStep, site: Site) -> Exception | None:
    """Set a copy to the value of a site, again if another thread has changed that meanwhile.

    Returns:
        The error if it cannot be set; else None.
    """
    try:
        while True:
            value = site.current
            write(owner, step, value)
            if value is site.current:
                return None
    except Exception as error:  # noqa: BLE001 - the owner's `__setattr__` may raise anything
        return error
