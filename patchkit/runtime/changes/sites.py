"""Every changed attribute and item of a process, and which of them take their value from which."""

import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar, cast

from patchkit.core.record import Record, field
from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import (
    MISSING,
    Location,
    SiteKey,
    bases_of,
    can_inherit,
    inherited,
    namespace,
    read,
)
from patchkit.runtime.changes.site import Site

_State = TypeVar("_State")


class Sites(Record, frozen=False, eq=False):
    """Every changed attribute of this process, by owner and name.

    A copy that is repointed with a site has that site as its leader.
    """

    _sites: dict[SiteKey, Site] = field(default_factory=dict)
    _inheriting: dict[SiteKey, Site] = field(default_factory=dict)
    """Those of `_sites` whose original is, or would be, inherited from a class."""
    _moved: list[Site] = field(default_factory=list)
    """Patched sites that got a new original, for `take_moved`."""
    _leaders: dict[SiteKey, Site] = field(default_factory=dict)
    """The site of each copy, by the copy's key."""
    _states: dict[Any, object] = field(default_factory=dict)
    """The state of each kind of change, by its class; see `noted`."""
    _guard: threading.RLock = field(default_factory=threading.RLock)

    def after_fork(self) -> None:
        """Replace the lock, which a thread that the fork did not copy may have held."""
        self._guard = threading.RLock()
        for site in self:
            site.guard = self._guard

    def __iter__(self) -> Iterator[Site]:
        return iter(list(self._sites.values()))

    def at(self, location: Location) -> Site:
        """Return the site of a location; a new one if there is none yet.

        A site whose attribute somebody else has set since (by a reload of its module, for example)
        is dropped: the value that is there now is the original of a new one.

        Args:
            location: The attribute or item that is to be changed.
        """
        key = site_key(location.owner, location.name)
        with self._guard:
            site = self._sites.get(key)
            if site is None or _is_foreign(site):
                is_inherited = can_inherit(location)
                site = Site(*location)
                site.is_patched = self.is_patched
                site.update_deriving = self._update_deriving
                site.guard = self._guard
                self._sites[key] = site
                if is_inherited:
                    self._inheriting[key] = site
                else:
                    self._inheriting.pop(key, None)
        return site

    def forget(self, module: str) -> None:
        """Drop the sites without layers of a module that has been executed anew.

        Args:
            module: The name of the module.
        """
        for site in self:
            # If the owner is a class, the class names its module.
            home_of_class = namespace(site.owner).get("__module__")
            if module in (site.home, home_of_class) and not site.layers:
                key = site_key(site.owner, site.name)
                self._sites.pop(key, None)
                self._inheriting.pop(key, None)

    def get(self, owner: object, name: TargetStep) -> Site | None:
        """Return the latest site of an attribute; None if it was never changed.

        Args:
            owner: The object or container that has the attribute.
            name: The attribute or item.
        """
        # The key has the owner's id. The site refers to the owner, so no other object gets that id.
        return self._sites.get(site_key(owner, name))

    def patches_on(self, owner: object, name: Any) -> list[str]:
        """Return the patches on an attribute or item, the innermost first.

        Args:
            owner: The object that has the attribute or item.
            name: The attribute's name; for an item, an `Item` of any copy of patchkit.
        """
        step = name if isinstance(name, str) else Item(name.key)  # this copy's class
        site = self.get(owner, step)
        return [] if site is None else site.patches

    def leader(self, owner: object, name: TargetStep) -> Site | None:
        """Return the site that a copy is repointed with; None if it is repointed with none.

        Args:
            owner: The module, class or container that has the copy.
            name: Its attribute or item.
        """
        if not self._leaders:
            return None
        key = site_key(owner, name)
        site = self._leaders.get(key)
        if site is None or key not in site.aliases:  # `unfollow` removes the key
            return None
        return site

    def follow(self, site: Site, owner: Any, name: TargetStep) -> None:
        """Have a copy repointed with a site from now on, and with no other.

        Args:
            site: The site.
            owner: The module, class or container that has the copy.
            name: Its attribute or item.
        """
        key = site_key(owner, name)
        former = self._leaders.get(key)
        if former is not None:
            former.aliases.pop(key, None)
        self._leaders[key] = site
        site.aliases[key] = (owner, name)

    def unfollow(self, site: Site, owner: Any, name: TargetStep) -> None:
        """Do not repoint a copy with a site any more.

        Args:
            site: The site.
            owner: The module, class or container that has the copy.
            name: Its attribute or item.
        """
        site.aliases.pop(site_key(owner, name), None)

    def deriving_from(self, site: Site) -> list[Site]:
        """List the patched attributes and items whose original comes from a changed one.

        These are attributes of subclasses and instances that inherit it or a copy of it, and copies
        of it that have patches of their own.

        Args:
            site: The changed attribute.

        Returns:
            Their sites.
        """
        deriving: list[Site] = []
        for other in list(self._inheriting.values()):
            if other is site or not other.layers:
                continue
            if self._inherits_from(other, site):
                deriving.append(other)
        for owner, name in list(site.aliases.values()):
            copy = self.get(owner, name)
            if copy is None or copy is site or not copy.layers:
                continue
            if site.knows(copy.original):
                deriving.append(copy)
        return deriving

    def _update_deriving(self, site: Site) -> list[str]:
        """Make the value of a site the original of the sites that derive from it.

        Nothing is done for one that would inherit nothing any more.

        Returns:
            Copies that could not be set, with the errors.
        """
        refused: list[str] = []
        for other in self.deriving_from(site):
            value = site.current
            if not other.own:
                # Looked up in this loop, since the base may be one that was updated in it.
                value = inherited(other.owner, str(other.name))
            if value is not MISSING and value is not other.original:
                refused += other.set_original(value)
                self._moved.append(other)
        return refused

    def _inherits_from(self, inheriting: Site, site: Site) -> bool:
        """Whether an attribute inherits the value of a site, or of a copy repointed with a site.

        If somebody else has set the attribute of the base since, it does not.
        """
        name = str(inheriting.name)
        bases = bases_of(inheriting.owner)
        # The site may have been deleted from the base, so that `vars` below does not show it.
        is_on_base = name == site.name and any(site.owner is base for base in bases)
        if is_on_base and site.knows(inheriting.original):
            return True
        for cls in bases:
            if name not in vars(cls):
                continue
            value = vars(cls)[name]
            changed = self.get(cls, name)
            leader = self.leader(cls, name)
            for candidate in (changed, leader):
                if candidate is not None and candidate.knows(value):
                    return True
            return False  # the nearest base that has the name decides
        return False

    def take_moved(self) -> list[Site]:
        """Return the patched sites that got a new original since the last call of this method."""
        moved = self._moved
        self._moved = []
        return [site for site in moved if site.layers]

    def is_patched(self, owner: object, name: TargetStep) -> bool:
        """Whether an attribute has a site with layers.

        Args:
            owner: The object or container that has the attribute.
            name: The attribute or item.
        """
        site = self.get(owner, name)
        return site is not None and bool(site.layers)

    def has_noted(self, kind: str) -> bool:
        """Whether `noted` has made an object of a class in this process.

        Args:
            kind: The name of the class, so that the caller need not import it.
        """
        names = [noted.__name__ for noted in list(self._states)]
        return kind in names

    def noted(self, kind: Callable[[], _State]) -> _State:
        """Return this process's only object of a class, in which a kind of change keeps its state.

        Args:
            kind: The class, as `CodeSites` for Edit; the first call makes the object.
        """
        if kind not in self._states:
            self._states[kind] = kind()
        return cast("_State", self._states[kind])


def site_key(owner: object, name: TargetStep) -> SiteKey:
    """Return the key of an attribute or item; a module's attribute has that of its dict's item.

    Args:
        owner: The object or container. The key is valid only while this object exists.
        name: The attribute or item.
    """
    if isinstance(owner, ModuleType) and not isinstance(name, Item):
        return id(object.__getattribute__(owner, "__dict__")), Item(name)
    return id(owner), name


def _is_foreign(site: Site) -> bool:
    """Whether the value of an attribute does not come from its site.

    Somebody else has set it; or the site has no layers any more, and the attribute has been
    repointed as a copy of another site since.
    """
    value = read(site.owner, site.name)
    if not site.knows(value):
        return True
    if site.layers or value is site.original:
        return False
    return any(value is former for former in site.former_originals)
