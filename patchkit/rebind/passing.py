"""One pass: find the copies, repoint those that may be, and tell the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.changes.places import write
from patchkit.rebind.containers import copies_in
from patchkit.rebind.outcome import Copy, Outcome
from patchkit.rebind.scope import Held, is_within
from patchkit.rebind.search import Found, Search
from patchkit.rebind.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.changes.sites import Site
    from patchkit.target import Step


def look_through(
    sites: Sequence[Site], modules: Iterable[str], held: Held, *, late: bool
) -> Outcome:
    """Repoint what copies the sites' values of before."""
    wanted = Wanted.of(sites)
    return _settle(wanted, Search(wanted, held, late=late), modules)


def look_back(sites: Sequence[Site], modules: Iterable[str], held: Held) -> Outcome:
    """Repoint what copies a value that a layer has made, and that is gone."""
    wanted = Wanted.of(sites, originals=False)
    return _settle(wanted, Search(wanted, held, late=True, deep=False), modules)


def _settle(wanted: Wanted, search: Search, modules: Iterable[str]) -> Outcome:
    outcome = Outcome([], [])
    if not wanted.ids:
        return outcome
    for found in copies_in(wanted):
        _write(found, outcome)
    for found in search.through(modules):
        if found.owner is not None and not is_within(found.module, found.site.rebind):
            outcome.left.append(Copy(f"{found.words} (out of scope)", found.site))
        else:
            _write(found, outcome)
    return outcome


def _write(found: Found, outcome: Outcome) -> None:
    site = found.site
    if found.owner is None:
        outcome.left.append(Copy(found.words, site))
        return
    alias = (found.owner, found.step)
    site.aliases.append(alias)  # first: what is torn off in the middle is carried back too
    try:
        _write_current(*alias, site)
    except (TypeError, AttributeError) as error:  # a tuple, an extension type, a frozen class
        site.aliases.pop()
        outcome.left.append(Copy(f"{found.words} ({type(error).__name__}: {error})", site))
    else:
        outcome.rebound.append(Copy(found.words, site))


def _write_current(owner: Any, step: Step, site: Site) -> None:
    """Write what the site holds, once more where another thread has changed it meanwhile."""
    while True:
        value = site.current
        write(owner, step, value)
        if value is site.current:
            return
