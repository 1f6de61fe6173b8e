"""One pass: find the copies, repoint those that may be, and tell the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import MISSING, namespace
from patchkit.changes.places import words, write
from patchkit.changes.sites import Site
from patchkit.copies.containers import copies_in
from patchkit.copies.outcome import Copy, Outcome
from patchkit.copies.scope import Held, home_of, is_within, maker_of
from patchkit.copies.search import Found, Search
from patchkit.copies.wanted import Wanted
from patchkit.rows.target import Item, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.changes.sites import Sites
    from patchkit.copies import Where


def look_through(sites: Sequence[Site], where: Where, held: Held) -> Outcome:
    """Repoint what copies the sites' values of before."""
    wanted = Wanted.of(sites, held.sites)
    near = () if where.late else _named_by(sites)
    search = Search(wanted, held, late=where.late, near=near)
    outcome = _settle(wanted, search, dict.fromkeys((*where.modules, *near)), held)
    for site in sites:
        _take_over(site, wanted, outcome, held)
    return outcome


def _take_over(site: Site, wanted: Wanted, outcome: Outcome, held: Held) -> None:
    """Let the copies of a place go with it, which went with the place's own origin so far."""
    leader = held.sites.leader(site.owner, site.name)
    if leader is None or isinstance(site.name, Item):
        return
    for owner, step, value in leader.followers():
        holder = sys.modules.get(str(owner.get("__name__"))) if isinstance(owner, dict) else owner
        name = str(step.key if isinstance(step, Item) else step)
        if value is not site.current and wanted.is_led(holder, name, site):
            _write(Found(words(holder, name), site, owner, step), outcome, held.sites)


def look_back(sites: Sequence[Site], modules: Iterable[str], held: Held) -> Outcome:
    """Repoint what copies a value that a layer has made, and that is gone."""
    wanted = Wanted.of(sites, held.sites, originals=False)
    outcome = _settle(wanted, Search(wanted, held, late=True, deep=False), modules, held)
    for site in sites:
        if not site.layers and site.own and site.rebind:
            _rejoin(site, wanted, outcome, held)
    return outcome


def _settle(wanted: Wanted, search: Search, modules: Iterable[str], held: Held) -> Outcome:
    outcome = Outcome([], [])
    if not wanted.ids:
        return outcome
    for found in copies_in(wanted):
        _write(found, outcome, held.sites)
    for found in search.through(modules):
        rebind = found.site.rebind
        if found.owner is not None and not is_within(found.module, rebind):
            outcome.left.append(Copy(f"{found.words} (out of scope)", found.site))
        elif found.owner is not None and held.keeps(found.module, rebind):
            outcome.left.append(Copy(f"{found.words} (of a pack)", found.site))
        else:
            _write(found, outcome, held.sites)
    return outcome


def _named_by(sites: Iterable[Site]) -> frozenset[str]:
    """
    Name modules in scope of which the targets' modules have anything.

    They were there before, and cannot have copied; but what decorates a target may put it there.
    """
    values = [one for home in set(map(home_of, sites)) for one in _values_of(home)]
    names = {name for value in values if isinstance(name := maker_of(value), str)}
    packages = {name for site in sites for name in site.rebind}
    return frozenset(name for name in names if is_within(name, packages))


def _values_of(module: str) -> tuple[Any, ...]:
    return tuple(namespace(sys.modules.get(module)).values())


def _rejoin(site: Site, wanted: Wanted, outcome: Outcome, held: Held) -> None:
    """Let a place without patches, that is a copy itself, go with its own origin again."""
    value, name = site.current, site.name
    if isinstance(name, Item) or all(value is one.current for one in wanted.claims(value)):
        return
    origin = wanted.origin(site.owner, name, value)
    if not isinstance(origin, Site) or value is origin.current:
        return
    if is_within(home_of(site), origin.rebind):
        for owner, step in ((site.owner, name), *(one[:2] for one in site.followers())):
            _write(Found(words(owner, step), origin, owner, step), outcome, held.sites)


def _write(found: Found, outcome: Outcome, sites: Sites) -> None:
    site = found.site
    if found.owner is None or site.current is MISSING:
        added = "" if found.owner is None else " (what was added stays where it was copied to)"
        outcome.left.append(Copy(found.words + added, site))
        return
    alias = (found.owner, found.step)
    sites.follow(site, *alias)  # first: what is torn off in the middle is carried back too
    if (refusal := _refused(*alias, site)) is None:
        outcome.rebound.append(Copy(found.words, site))
    else:
        site.forget(*alias)
        outcome.left.append(Copy(f"{found.words} ({type(refusal).__name__}: {refusal})", site))


def _refused(owner: Any, step: Step, site: Site) -> Exception | None:
    """
    Write what the site holds, once more where another thread has changed it meanwhile.

    Returns:
        What the place raises instead of being written: a tuple, a frozen class, a registry that is
        closed.

    """
    try:
        while True:
            value = site.current
            write(owner, step, value)
            if value is site.current:
                return None
    except Exception as error:  # noqa: BLE001 - the place's own
        return error
