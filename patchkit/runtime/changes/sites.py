"""Every changed attribute and item of a process, and which of them derive from which."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from patchkit.core.record import Record, field
from patchkit.core.rows.target import TargetStep
from patchkit.runtime.changes.owners import Location, SiteKey, read, site_key
from patchkit.runtime.changes.site import Site

_State = TypeVar("_State")


class Sites(Record, frozen=False, eq=False):
    """Every changed attribute of this process, by owner and name."""

    _sites: dict[SiteKey, Site] = field(default_factory=dict)
    _leaders: dict[SiteKey, Site] = field(default_factory=dict)
    _states: dict[object, object] = field(default_factory=dict)
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def after_fork(self) -> None:
        """Forget threads that were changing a site."""
        self._guard = threading.RLock()
        for site in self:
            site.guard = self._guard

    def __iter__(self) -> Iterator[Site]:
        return iter(list(self._sites.values()))

    def at(self, location: Location) -> Site:
        """Return the site for a location, made if there is none.

        A site that holds a stranger's value (its module was reloaded, somebody overwrote it) is
        forgotten: what stands there now is the original of a new one.

        Args:
            location: The attribute or item that is to be changed.
        """
        key = site_key(location.owner, location.name)
        with self._guard:
            site = self._sites.get(key)
            if site is None or not site.knows(read(site.owner, site.name)):
                site = Site(location.owner, location.name, location.value, location.own)
                site.is_patched = self.holds
                site.guard = self._guard
                self._sites[key] = site
        return site

    def get(self, owner: object, name: TargetStep) -> Site | None:
        """Return the latest site of an attribute; None if it was never changed.

        Args:
            owner: What holds the attribute.
            name: The attribute or item.
        """
        return self._sites.get(site_key(owner, name))  # it keeps its owner alive

    def leader(self, owner: object, name: TargetStep) -> Site | None:
        """Return the site that a copy was last repointed with; None if it goes with none.

        Args:
            owner: What holds the copy.
            name: Its attribute or item.
        """
        key = site_key(owner, name)
        site = self._leaders.get(key)
        if site is None or key not in site.aliases:
            return None
        return site

    def follow(self, site: Site, owner: Any, name: TargetStep) -> None:
        """Have a copy repointed with a site from now on, and with no other.

        Args:
            site: The site that the copy goes with.
            owner: What holds the copy.
            name: Its attribute or item.
        """
        key = site_key(owner, name)
        former = self._leaders.get(key)
        if former is not None:
            former.aliases.pop(key, None)
        self._leaders[key] = site
        site.aliases[key] = (owner, name)

    def holds(self, owner: object, name: TargetStep) -> bool:
        """Whether a patch lies on this very attribute.

        Args:
            owner: What holds the attribute.
            name: The attribute or item.
        """
        site = self.get(owner, name)
        return site is not None and bool(site.layers)

    def noted(self, kind: Callable[[], _State]) -> _State:
        """Return what a kind of change remembers in this process.

        Args:
            kind: The class of what is remembered; it is made when it is first asked for.
        """
        if kind not in self._states:
            self._states[kind] = kind()
        return cast("_State", self._states[kind])
