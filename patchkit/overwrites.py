"""What became of the changed attributes: intact, wrapped by somebody else, or overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.places import read, words
from patchkit.changes.resolve import MISSING
from patchkit.changes.strangers import described, leads_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.changes.sites import Site, Sites


class Stranger(NamedTuple):
    """
    Somebody else's value on a changed attribute.

    Args:
        value: what stands there.
        by: what that is and where it comes from, in words.
        wraps: whether what was put there acts below it.

    """

    value: Any
    by: str
    wraps: bool


def stranger_at(site: Site, sites: Sites) -> Stranger | None:
    """
    Look at a changed attribute; None where it is intact.

    Args:
        site: the attribute, as a patch has changed it.
        sites: every changed attribute of this process.

    """
    with site.guard:  # another thread may be changing it
        value = read(site.owner, site.name)
        while value is not site.current:
            newer = sites.get(site.owner, site.name)
            if newer is None or newer is site or value is not newer.current:
                return _judged(value, site)
            value = newer.original  # a later patch has come on top of somebody else's
            if newer.original is newer.current:
                return _judged(value, site)
        return None


def copies_that_came_back(site: Site) -> Iterator[str]:
    """Name the copies that were repointed and hold something of before again."""
    for owner, name, value in site.followers():
        if value is not site.current:
            module = owner.get("__name__") if isinstance(owner, dict) else None
            yield f"{module}.{getattr(name, 'key', name)}" if module else words(owner, name)


def _judged(value: Any, site: Site) -> Stranger:
    if value is site.original:
        return Stranger(value, "its original, which somebody has put back", wraps=False)
    if value is not MISSING and site.knows(value):
        return Stranger(value, "an earlier state, which somebody has put back", wraps=False)
    return Stranger(value, described(value), wraps=leads_to(value, site.current))
