"""One pass: find the copies, repoint those that may be, and tell the others."""

import sys
from collections.abc import Iterable
from typing import Any

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import MISSING, namespace, words, write
from patchkit.runtime.changes.sites import Site
from patchkit.runtime.copies import SearchScope
from patchkit.runtime.copies.holders import KEY
from patchkit.runtime.copies.scope import Holder, Keepers, Outcome, home_of, is_within, maker_of
from patchkit.runtime.copies.search import CopySearch
from patchkit.runtime.copies.stale import StaleValues


def repoint(sites: Iterable[Site], where: SearchScope, keepers: Keepers) -> Outcome:
    """Repoint the copies of what attributes held before; the sites carry them along after that."""
    run = _Pass(StaleValues(sites, keepers), keepers)
    near = () if where.late else _named_by(run.stale.sites)
    search = CopySearch(run.stale, keepers, late=where.late, near=near)
    run.settle(search, dict.fromkeys((*where.modules, *near)))
    for site in run.stale.sites:
        run.take_over(site)
    return run.outcome


def restore(sites: Iterable[Site], where: SearchScope, keepers: Keepers) -> Outcome:
    """Repoint what copies a layer's value that is gone; else tell only what is out of scope."""
    run = _Pass(StaleValues(sites, keepers, originals=False), keepers)
    run.settle(CopySearch(run.stale, keepers, late=True, deep=False), where.modules)
    for site in run.stale.sites:
        if not site.layers and site.own:
            run.rejoin(site)
    return run.outcome


class _Pass:
    def __init__(self, stale: StaleValues, keepers: Keepers) -> None:
        self.stale = stale
        self.outcome = Outcome([], [])
        self._keepers = keepers

    def settle(self, search: CopySearch, modules: Iterable[str]) -> None:
        """Repoint the copies in scope, and tell the others."""
        if not self.stale.ids:
            return
        for holder in search.through(modules):
            rebind = holder.site.rebind
            if holder.owner is not None and not is_within(holder.module, rebind):
                self._leave(holder, " (out of scope)")
            elif holder.owner is not None and self._keepers.keeps(holder.module, rebind):
                self._leave(holder, " (of a pack)")
            else:
                self._write(holder)

    def take_over(self, site: Site) -> None:
        """Let the copies of a place go with it, which went with the place's own origin so far."""
        leader = self._keepers.sites.leader(site.owner, site.name)
        if leader is None or isinstance(site.name, Item):
            return
        for owner, step, value in leader.followers():
            if step is KEY:
                continue  # code does not tell by which name a key was given
            is_module = isinstance(owner, dict)
            place = sys.modules.get(str(owner.get("__name__"))) if is_module else owner
            name = str(step.key if isinstance(step, Item) else step)
            if value is not site.current and self.stale.is_led(place, name, site):
                self._write(Holder(words(place, name), site, owner, step))

    def rejoin(self, site: Site) -> None:
        """Let a place without patches, that is a copy itself, go with its own origin again."""
        value, name, claims = site.current, site.name, self.stale.claims(site.current)
        if isinstance(name, Item) or all(value is claimant.current for claimant in claims):
            return
        origin = self.stale.origin(site.owner, name, value)
        if not isinstance(origin, Site) or value is origin.current:
            return
        if is_within(home_of(site), origin.rebind):
            copies = ((owner, step) for owner, step, _ in site.followers())
            for owner, step in ((site.owner, name), *copies):
                self._write(Holder(words(owner, step), origin, owner, step))

    def _write(self, holder: Holder) -> None:
        site, owner, step = holder.site, holder.owner, holder.step
        if owner is None:
            self._leave(holder)
        elif site.current is MISSING:
            self._leave(holder, " (what was added stays where it was copied to)")
        else:
            # First: what is torn off in the middle is carried back too.
            self._keepers.sites.follow(site, owner, step)
            if (refusal := _refused(owner, step, site)) is None:
                self.outcome.rebound.append(holder)
            else:
                site.forget(owner, step)
                self._leave(holder, f" ({type(refusal).__name__}: {refusal})")

    def _leave(self, holder: Holder, why: str = "") -> None:
        self.outcome.left.append(holder._replace(words=holder.words + why))


def _named_by(sites: Iterable[Site]) -> frozenset[str]:
    """Name modules in scope of which the targets' modules have anything.

    They were there before, and cannot have copied; but what decorates a target may put it there.
    """
    homes = [namespace(sys.modules.get(home)) for home in set(map(home_of, sites))]
    values = [value for values in homes for value in tuple(values.values())]
    makers = {maker for value in values if isinstance(maker := maker_of(value), str)}
    packages = {name for site in sites for name in site.rebind}
    return frozenset(name for name in makers if is_within(name, packages))


def _refused(owner: Any, step: TargetStep, site: Site) -> Exception | None:
    """Write what the site holds by now; return what a class raises instead."""
    try:
        while True:
            value = site.current
            write(owner, step, value)
            if value is site.current:
                return None
    except Exception as error:  # noqa: BLE001 - the place's own
        return error
