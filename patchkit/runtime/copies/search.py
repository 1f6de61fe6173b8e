"""Searches loaded modules, and the classes in them, for copies.

Whether an object is a copy is decided by its `id`. So a module is skipped quickly: its attributes'
ids and the ids of the stale values have none in common.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import accumulate
from types import FunctionType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import namespace
from patchkit.runtime.changes.site import Site
from patchkit.runtime.copies.holders import CLASS, KEY, MAPPING, HolderKinds, keys_of
from patchkit.runtime.copies.scope import (
    Holder,
    Keepers,
    class_namespace,
    home_of,
    is_served,
    is_within,
)
from patchkit.runtime.copies.stale import StaleValues

OURS = ("patchkit",)
"""The packages that are never searched."""

UNKNOWN = " (origin unknown)"
_A_KEY = " (a key)"


class _Container(NamedTuple):
    """A module or a class to search.

    Args:
        owner: The module or class.
        values: Its attributes.
        module: The name of the module.
    """

    owner: Any
    values: Mapping[str, Any]
    module: str

    @property
    def prefix(self) -> str:
        """The start of its attributes' names in messages: `pkg.mod:`, or `pkg.mod:Class.`"""
        if isinstance(self.owner, type):
            return f"{self.module}:{self.owner.__qualname__}."
        return f"{self.module}:"

    def location(self, name: str) -> tuple[Any, TargetStep]:
        """Return the owner and step to set an attribute; for a module those of its dict's item.

        The class of a module may have a `__setattr__` that does more than to set it.
        """
        if isinstance(self.owner, type):
            return self.owner, name
        return self.values, Item(name)


class CopySearch:
    """One search for copies, which visits each object once.

    Args:
        stale: The values to search for.
        keepers: The modules whose copies stay.
        late: Whether to search all modules of the packages in scope; otherwise only those in
            `near`, and those that refer to the targets' modules.
        near: The names of modules to search in any case.
        deep: Whether to search also for copies that are out of reach.
    """

    def __init__(
        self,
        stale: StaleValues,
        keepers: Keepers,
        *,
        late: bool,
        near: Collection[str] = (),
        deep: bool = True,
    ) -> None:
        self._stale = stale
        self._keepers = keepers
        self._deep = deep
        self._kinds = HolderKinds()
        self._visited: set[int] = set()
        self._reported: set[int] = set()
        self._modules_with_copy: set[tuple[str, Site]] = set()
        """Each module that has an attribute bound from a site, with that site."""
        self._late = late
        self._packages = frozenset(near)
        """The names of modules (if late: of packages) that are searched in any case."""
        self._prefixes: tuple[str, ...] = ()
        if late:
            self._packages = frozenset().union(*(site.rebind for site in stale.sites))
            self._prefixes = tuple(f"{name}." for name in self._packages)

    def through(self, modules: Iterable[str]) -> Iterator[Holder]:
        """Yield the copies in loaded modules.

        Args:
            modules: The names of the modules.
        """
        # A module with a copy has the copy among its values, or something that it was taken from.
        ids = self._stale.ids | _related_ids(self._stale.sites, late=self._late)
        loaded = sys.modules
        read = object.__getattribute__  # it loads no lazy module
        packages = self._packages
        prefixes = self._prefixes
        for name in modules:
            try:
                values = read(loaded.get(name), "__dict__")
            except AttributeError:
                continue
            if not isinstance(values, dict):
                continue  # a class in `sys.modules`, whose attributes are read-only here
            is_near = name.startswith(prefixes) or name in packages
            # One call in C: no other thread can change the dict in between.
            if is_near or not ids.isdisjoint(map(id, values.values())):
                yield from self._in_module(_Container(loaded.get(name), values, name))

    def _in_module(self, module: _Container) -> Iterator[Holder]:
        """Yield the copies in a module, and in the classes of its package that it refers to."""
        name = module.module
        ids = self._stale.ids
        if name in self._keepers.bodies or is_within(name, OURS):
            return
        values = list(module.values.values())
        parts: list[Any] = []
        # This adds the attributes of the classes to `values`, and the parts of objects to `parts`.
        classes = self._new_classes(values, name.partition(".")[0], parts)
        containers = (module, *classes)
        # Names are looked at only if there is a copy among the values.
        if not ids.isdisjoint(map(id, values)):
            for container in containers:
                attributes = tuple(container.values.values())
                if not ids.isdisjoint(map(id, attributes)):
                    yield from self._attributes(container)
        has_parts = not ids.isdisjoint(map(id, parts))
        # (Functions and containers of a pack refer to originals on purpose.)
        if has_parts and not is_within(name, self._keepers.packages):
            for container in containers:
                yield from self._holders(container)

    def _new_classes(
        self, values: list[Any], top: str, parts: list[Any]
    ) -> list[_Container]:
        """Return the classes of a package among some values, and inside those, not yet visited.

        Args:
            values: A module's attributes. Those of the found classes are added to this list.
            top: The name of the package.
            parts: The parts of the other new objects (closures, items) are added to this list.
        """
        kinds = self._kinds
        visited = self._visited
        classes: list[_Container] = []
        unread = values
        while unread:
            added: list[Any] = []
            for value in unread:
                kind = kinds[type(value)]
                if kind is None or id(value) in visited:
                    continue
                if kind is CLASS:
                    cls = _container_of(value, top)
                    if cls is None:
                        continue
                    classes.append(cls)
                    added += cls.values.values()
                elif self._deep:
                    parts += kind.parts(value)
                elif kind is MAPPING:
                    # Keys can be repointed, so they are searched in any case.
                    parts += keys_of(value)
                visited.add(id(value))
            values += added
            unread = added
        return classes

    # -- once there is something to find: with names -----------------------------------------------

    def _attributes(self, container: _Container) -> Iterator[Holder]:
        """Yield the attributes of a module or class that are copies."""
        for name, value in tuple(container.values.items()):
            site = self._stale.site_of(value)
            # (`update_patched_copies` of the pass does patched attributes.)
            if site is None or self._keepers.sites.is_patched(container.owner, name):
                continue
            if id(value) in self._stale.values:
                yield from self._copy(container, name, value)
            else:  # the `__func__` of a changed static method, for example
                yield Holder(f"{container.prefix}{name} (the function inside)", site)

    def _copy(self, container: _Container, name: str, value: Any) -> Iterator[Holder]:
        """Yield an attribute whose value is stale, if it was bound from a site.

        If it has the current value of that site already, it is only registered with the site.
        """
        stale = self._stale
        module = container.module
        claimants = stale.claims(value)
        claims = [site for site in claimants if is_within(module, site.rebind)]
        # (`proven` fails for what a module's `__getattr__` served: that is defined elsewhere.)
        is_relevant = bool(claims) or any(map(is_served, claimants))
        if not is_relevant and stale.proven(value) is None:
            return  # probably unrelated: another package's, whose code need not be parsed
        label = container.prefix + name
        origin = stale.origin(container.owner, name, value)
        if origin is None:
            # The origin is uncertain: reported only in packages where a copy would be repointed.
            if claims:
                yield Holder(label + UNKNOWN, claims[0])
        # Else it is UNRELATED, or from a site that repoints nothing.
        elif isinstance(origin, Site) and origin.rebind:
            self._modules_with_copy.add((module, origin))
            owner, step = container.location(name)
            if value is not origin.current:
                yield Holder(label, origin, owner, step, module)
            elif is_within(module, origin.rebind):
                self._keepers.sites.follow(origin, owner, step)

    def _holders(self, container: _Container) -> Iterator[Holder]:
        """Yield the copies inside the objects of a module or class: defaults, closures, items."""
        for name, value in tuple(container.values.items()):
            kind = self._kinds[type(value)]
            if kind is None or id(value) in self._reported:
                continue
            if kind is not MAPPING and not self._deep:
                continue  # if not deep, only what can be repointed is searched: keys of dicts
            parts = map(id, kind.parts(value))
            if self._stale.ids.isdisjoint(parts):
                continue
            if self._is_excluded(container, name, value):
                continue
            self._reported.add(id(value))
            label = container.prefix + name
            # A function may be found under the name of a copy of it. Its own name says more, unless
            # that is `<lambda>`.
            if type(value) is FunctionType and "<" not in value.__qualname__:
                label = f"{value.__module__}:{value.__qualname__}"
            if kind is MAPPING:
                yield from self._keys(container.module, label, value)
            if self._deep:
                yield from self._parts(container.module, label, kind.named(value))

    def _keys(
        self, module: str, label: str, holder: dict[Any, Any]
    ) -> Iterator[Holder]:
        """Yield the keys of a dict that are copies.

        A key can be repointed if its site is certain.
        """
        for key in keys_of(holder):
            if self._stale.site_of(key) is None:
                continue
            origin = self._stale.proven(key) or self._body_site(module, key)
            # An uncertain key, or one in a subclass of dict with methods of its own: only reported.
            if type(holder) is not dict or origin is None or not origin.rebind:
                yield from self._parts(module, label, [(_A_KEY, key)])
            elif key is not origin.current:
                owner = _key_owner(holder, key, label)
                yield Holder(label + _A_KEY, origin, owner, KEY, module)

    def _body_site(self, module: str, key: Any) -> Site | None:
        """Return the site that a dict's key is from, if the key is a value of a patch.

        None if several sites have had the value, or if the dict's module has not bound the same
        object by name, too.
        """
        claims = self._stale.claims(key)
        if len(claims) != 1:
            return None
        (site,) = claims
        if key is site.original or not self._knows(module, site):
            return None
        return site

    def _knows(self, module: str, site: Site) -> bool:
        """Whether a module has an attribute bound from a site, or is the site's own module."""
        return (module, site) in self._modules_with_copy or module == home_of(site)

    def _parts(
        self, module: str, label: str, parts: Iterable[tuple[str, Any]]
    ) -> Iterator[Holder]:
        """Yield the parts of an object that are copies; none of them can be repointed."""
        for part_label, part in parts:
            site = self._stale.site_of(part)
            if site is None:
                continue
            if self._stale.is_certainly_from(part, site):
                yield Holder(label + part_label, site)
            elif self._knows(module, site):
                # It need not be a copy: unrelated attributes have the same object as their value.
                yield Holder(label + part_label + UNKNOWN, site)

    def _is_excluded(self, container: _Container, name: str, value: Any) -> bool:
        """Whether an attribute is not searched.

        That is a value of a patch, a function of a pack, or Python's own notes on a class, such as
        `__orig_bases__`.
        """
        if name.startswith("__") and isinstance(
            value, (dict, list, tuple, set, frozenset)
        ):
            return True
        if id(value) in self._stale.ours:
            return True
        if self._keepers.sites.is_patched(container.owner, name):
            return True
        if type(value) is not FunctionType:
            return False
        maker = value.__module__
        return isinstance(maker, str) and is_within(maker, self._keepers.packages)


def _container_of(cls: type, top: str) -> _Container | None:
    """Return a class as a container; None if it is of another package than `top`."""
    values = class_namespace(cls)
    home = values.get("__module__")
    if not isinstance(home, str) or home.partition(".")[0] != top:
        return None
    return _Container(cls, values, home)


def _related_ids(sites: Iterable[Site], *, late: bool) -> frozenset[int]:
    """Return the ids of objects that a module with a copy is expected to refer to.

    They are the targets' modules, the packages around them (`a` for `import a.b`), and the
    functions and classes that these modules define.

    Args:
        sites: The changed attributes.
        late: Whether all modules of the targets' packages count, too.
    """
    homes = set(map(home_of, sites)) - {""}  # "" is that of an item of a dict
    names: set[str] = set()
    if late:
        tops = {home.partition(".")[0] for home in homes}
        prefixes = tuple(f"{top}." for top in tops)
        names.update(
            tops, (name for name in list(sys.modules) if name.startswith(prefixes))
        )
    else:
        for home in homes:
            # `a`, `a.b` and `a.b.c` for `a.b.c`.
            names.update(accumulate(home.split("."), "{}.{}".format))
    ids: set[int] = set()
    for name in names:
        module = sys.modules.get(name)
        if module is not None:
            ids.add(id(module))
    for home in homes:
        ids.update(map(id, _defined_in(home)))
    return frozenset(ids)


def _key_owner(holder: dict[Any, Any], key: Any, name: str) -> Any:
    """Return an owner whose only item is a key of a dict."""
    from patchkit.runtime.copies.keys import KeyOwner  # noqa: PLC0415 - few processes have one

    return KeyOwner(holder, key, name)


def _defined_in(home: str) -> Iterator[Any]:
    """Yield the functions and classes among a module's attributes that it has defined."""
    for value in tuple(namespace(sys.modules.get(home)).values()):
        type_ = type(value)
        if type_ is FunctionType:
            if value.__module__ == home:
                yield value
        elif (
            issubclass(type_, type) and class_namespace(value).get("__module__") == home
        ):
            yield value
