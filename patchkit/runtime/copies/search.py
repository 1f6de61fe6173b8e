"""Searches modules and their classes for copies, in a fixed order, and visits each object once."""

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
UNKNOWN = " (origin unknown)"
_A_KEY = " (a key)"


class _Container(NamedTuple):
    """A module or a class with its own attributes, and the name of the module."""

    owner: Any
    values: Mapping[str, Any]
    module: str

    @property
    def prefix(self) -> str:
        """`pkg.mod:`, or `pkg.mod:Class.`"""
        if isinstance(self.owner, type):
            return f"{self.module}:{self.owner.__qualname__}."
        return f"{self.module}:"

    def location(self, name: str) -> tuple[Any, TargetStep]:
        """Return what to write to: a module's dict, as its class may watch assignments."""
        if isinstance(self.owner, type):
            return self.owner, name
        return self.values, Item(name)


class CopySearch:
    """A search for copies.

    Args:
        stale: The values that are looked for.
        keepers: Those whose copies are left alone.
        late: Whether to look into every module of the packages that are in scope; otherwise only
            into those `near`, and into those that know the targets' modules.
        near: Names of modules.
        deep: Whether to look for what is out of reach too.
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
        self._copied_by: set[tuple[str, Site]] = set()
        """Modules that have copied a site's value by name."""
        self._late = late
        self._packages = frozenset(near)
        """Names of modules, and of packages if late, that are looked into in any case."""
        self._prefixes: tuple[str, ...] = ()
        if late:
            self._packages = frozenset().union(*(site.rebind for site in stale.sites))
            self._prefixes = tuple(f"{name}." for name in self._packages)

    def through(self, modules: Iterable[str]) -> Iterator[Holder]:
        """Yield what holds a copy in the modules of these names: `modules`."""
        ids = self._stale.ids | _kin(self._stale.sites, late=self._late)
        loaded = sys.modules
        read = object.__getattribute__
        packages = self._packages
        prefixes = self._prefixes
        for name in modules:
            try:
                values = read(loaded.get(name), "__dict__")
            except AttributeError:
                continue
            if not isinstance(values, dict):
                continue  # a class that poses as a module has no dict that one may write to
            is_near = name.startswith(prefixes) or name in packages
            # In C from end to end, so that no other thread changes the dict meanwhile.
            if is_near or not ids.isdisjoint(map(id, values.values())):
                yield from self._in_module(_Container(loaded.get(name), values, name))

    def _in_module(self, module: _Container) -> Iterator[Holder]:
        """Yield what holds a copy in a module and in the classes of its package that it has."""
        name = module.module
        ids = self._stale.ids
        if name in self._keepers.bodies or is_within(name, OURS):
            return
        values = list(module.values.values())
        parts: list[Any] = []
        classes = self._new_classes(values, name.partition(".")[0], parts)
        containers = (module, *classes)
        if not ids.isdisjoint(map(id, values)):
            for container in containers:
                attributes = tuple(container.values.values())
                if not ids.isdisjoint(map(id, attributes)):
                    yield from self._attributes(container)
        has_parts = not ids.isdisjoint(map(id, parts))
        if has_parts and not is_within(name, self._keepers.packages):
            for container in containers:
                yield from self._holders(container)

    def _new_classes(
        self, values: list[Any], top: str, parts: list[Any]
    ) -> list[_Container]:
        """List the classes of a package among values, and inside of these, that are new.

        Args:
            values: What a module holds; what the classes hold is added.
            top: The name of the package.
            parts: What the new objects hold is added here.
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
                    parts += keys_of(value)
                visited.add(id(value))
            values += added
            unread = added
        return classes

    # -- by name, where there is something ---------------------------------------------------------

    def _attributes(self, container: _Container) -> Iterator[Holder]:
        """Yield the attributes of a module or class that hold a copy."""
        for name, value in tuple(container.values.items()):
            site = self._stale.site_of(value)
            if site is None or self._keepers.sites.holds(container.owner, name):
                continue
            if id(value) in self._stale.values:
                yield from self._copy(container, name, value)
            else:
                yield Holder(f"{container.prefix}{name} (the function inside)", site)

    def _copy(self, container: _Container, name: str, value: Any) -> Iterator[Holder]:
        """Yield an attribute that holds a copy, if that is of a site and not as it should be."""
        stale = self._stale
        module = container.module
        claimants = stale.claims(value)
        claims = [site for site in claimants if is_within(module, site.rebind)]
        is_told = bool(claims) or any(map(is_served, claimants))
        if not is_told and stale.proven(value) is None:
            return  # another package's business, most probably, and its code is not read
        label = container.prefix + name
        origin = stale.origin(container.owner, name, value)
        if origin is None:
            if claims:
                yield Holder(label + UNKNOWN, claims[0])
        elif isinstance(origin, Site) and origin.rebind:
            self._copied_by.add((module, origin))
            owner, step = container.location(name)
            if value is not origin.current:
                yield Holder(label, origin, owner, step, module)
            elif is_within(module, origin.rebind):
                self._keepers.sites.follow(origin, owner, step)  # it is as it should be

    def _holders(self, container: _Container) -> Iterator[Holder]:
        """Yield what holds a copy in the objects of a module or class."""
        for name, value in tuple(container.values.items()):
            kind = self._kinds[type(value)]
            if kind is None or id(value) in self._reported:
                continue
            if kind is not MAPPING and not self._deep:
                continue
            parts = map(id, kind.parts(value))
            if self._stale.ids.isdisjoint(parts):
                continue
            if self._is_left_out(container, name, value):
                continue
            self._reported.add(id(value))
            label = container.prefix + name
            if type(value) is FunctionType and "<" not in value.__qualname__:
                label = f"{value.__module__}:{value.__qualname__}"
            if kind is MAPPING:
                yield from self._keys(container.module, label, value)
            if self._deep:
                yield from self._parts(container.module, label, kind.named(value))

    def _keys(
        self, module: str, label: str, holder: dict[Any, Any]
    ) -> Iterator[Holder]:
        """Yield keys that are copies; they can be repointed where they prove whose they are."""
        for key in keys_of(holder):
            if self._stale.site_of(key) is None:
                continue
            origin = self._stale.proven(key) or self._body_site(module, key)
            if type(holder) is not dict or origin is None or not origin.rebind:
                yield from self._parts(module, label, [(_A_KEY, key)])
            elif key is not origin.current:
                owner = _key_owner(holder, key, label)
                yield Holder(label + _A_KEY, origin, owner, KEY, module)

    def _body_site(self, module: str, key: Any) -> Site | None:
        """Return the site from which a module has an object of a body, by name and as a key."""
        claims = self._stale.claims(key)
        if len(claims) != 1:
            return None
        (site,) = claims
        if key is site.original or not self._knows(module, site):
            return None
        return site

    def _knows(self, module: str, site: Site) -> bool:
        """Whether a module has copied a site's value by name, or is the site's own."""
        return (module, site) in self._copied_by or module == home_of(site)

    def _parts(
        self, module: str, label: str, parts: Iterable[tuple[str, Any]]
    ) -> Iterator[Holder]:
        """Yield those parts of an object that are copies; none can be repointed."""
        for part_label, part in parts:
            site = self._stale.site_of(part)
            if site is None:
                continue
            if self._stale.is_its_own(part, site):
                yield Holder(label + part_label, site)
            elif self._knows(module, site):
                # Others share the value.
                yield Holder(label + part_label + UNKNOWN, site)

    def _is_left_out(self, container: _Container, name: str, value: Any) -> bool:
        """Whether a patch or a pack made it, or it says what is there (`__orig_bases__`)."""
        if name.startswith("__") and isinstance(
            value, (dict, list, tuple, set, frozenset)
        ):
            return True
        if id(value) in self._stale.ours:
            return True
        if self._keepers.sites.holds(container.owner, name):
            return True
        if type(value) is not FunctionType:
            return False
        maker = value.__module__
        return isinstance(maker, str) and is_within(maker, self._keepers.packages)


def _container_of(cls: type, top: str) -> _Container | None:
    """Return the namespace of a class; None if it is of another package."""
    values = class_namespace(cls)
    home = values.get("__module__")
    if not isinstance(home, str) or home.partition(".")[0] != top:
        return None
    return _Container(cls, values, home)


def _kin(sites: Iterable[Site], *, late: bool) -> frozenset[int]:
    """Identify what a module has in its globals, if it has copied from the targets' modules.

    That is one of these modules, a package that it is reached through, or what one defines.
    """
    homes = set(map(home_of, sites)) - {""}
    names: set[str] = set()
    if late:
        tops = {home.partition(".")[0] for home in homes}
        prefixes = tuple(f"{top}." for top in tops)
        names.update(
            tops, (name for name in list(sys.modules) if name.startswith(prefixes))
        )
    else:
        for home in homes:
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
    from patchkit.runtime.copies.keys import KeyOwner  # noqa: PLC0415 - few processes have one

    return KeyOwner(holder, key, name)


def _defined_in(home: str) -> Iterator[Any]:
    """Yield the functions and classes that a module defines, and has by name."""
    for value in tuple(namespace(sys.modules.get(home)).values()):
        type_ = type(value)
        if type_ is FunctionType:
            if value.__module__ == home:
                yield value
        elif (
            issubclass(type_, type) and class_namespace(value).get("__module__") == home
        ):
            yield value
