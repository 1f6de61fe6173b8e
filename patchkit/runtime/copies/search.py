"""Searches modules and their classes for copies, in a fixed order, and visits each object once."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import accumulate
from types import FunctionType
from typing import Any, NamedTuple

from patchkit.core.rows.target import Item, TargetStep
from patchkit.runtime.changes.owners import namespace
from patchkit.runtime.changes.sites import Site
from patchkit.runtime.copies.holders import CLASS, KEY, MAPPING, HolderKinds, keys_of
from patchkit.runtime.copies.scope import Holder, Keepers, class_namespace, home_of, is_within
from patchkit.runtime.copies.stale import StaleValues

OURS = ("patchkit",)
UNKNOWN = " (origin unknown)"
_A_KEY = " (a key)"


class _Namespace(NamedTuple):
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
        named = {name for site in stale.sites for name in site.rebind}
        self._packages = frozenset(named if late else near)
        self._prefixes = tuple(f"{name}." for name in self._packages if late)
        self._late = late

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
                yield from self._in_module(_Namespace(loaded.get(name), values, name))

    def _in_module(self, module: _Namespace) -> Iterator[Holder]:
        """Yield what holds a copy in a module and in the classes of its package that it has."""
        name = module.module
        ids = self._stale.ids
        if name in self._keepers.bodies or is_within(name, OURS):
            return
        values = list(module.values.values())
        parts: list[Any] = []
        classes = self._new_classes(values, name.partition(".")[0], parts)
        if not ids.isdisjoint(map(id, values)):
            for namespace_ in (module, *classes):
                if not ids.isdisjoint(map(id, tuple(namespace_.values.values()))):
                    yield from self._attributes(namespace_)
        if not ids.isdisjoint(map(id, parts)) and not is_within(name, self._keepers.packages):
            for namespace_ in (module, *classes):
                yield from self._holders(namespace_)

    def _new_classes(self, values: list[Any], top: str, parts: list[Any]) -> list[_Namespace]:
        """List the classes of a package among values, and inside of these, that are new.

        Args:
            values: What a module holds; what the classes hold is added.
            top: The name of the package.
            parts: What the new objects hold is added here.
        """
        kinds = self._kinds
        visited = self._visited
        classes: list[_Namespace] = []
        unread = values
        while unread:
            added: list[Any] = []
            for value in unread:
                kind = kinds[type(value)]
                if kind is None or id(value) in visited:
                    continue
                if kind is CLASS:
                    cls = _namespace_in(value, top)
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

    def _attributes(self, namespace_: _Namespace) -> Iterator[Holder]:
        """Yield the attributes of a module or class that hold a copy."""
        for name, value in tuple(namespace_.values.items()):
            site = self._stale.site_of(value)
            if site is None or self._keepers.sites.holds(namespace_.owner, name):
                continue
            if id(value) in self._stale.values:
                yield from self._copy(namespace_, name, value)
            else:
                yield Holder(f"{namespace_.prefix}{name} (the function inside)", site)

    def _copy(self, namespace_: _Namespace, name: str, value: Any) -> Iterator[Holder]:
        """Yield an attribute that holds a copy, if that is of a site and not as it should be."""
        stale = self._stale
        module = namespace_.module
        claims = [site for site in stale.claims(value) if is_within(module, site.rebind)]
        if not claims and stale.proven(value) is None:
            return  # another package's business, most probably, and its code is not read
        words = namespace_.prefix + name
        origin = stale.origin(namespace_.owner, name, value)
        if origin is None:
            if claims:
                yield Holder(words + UNKNOWN, claims[0])
        elif isinstance(origin, Site) and origin.rebind:
            self._copied_by.add((module, origin))
            owner, step = namespace_.location(name)
            if value is not origin.current:
                yield Holder(words, origin, owner, step, module)
            elif is_within(module, origin.rebind):
                self._keepers.sites.follow(origin, owner, step)  # it is as it should be

    def _holders(self, namespace_: _Namespace) -> Iterator[Holder]:
        """Yield what holds a copy in the objects of a module or class."""
        for name, value in tuple(namespace_.values.items()):
            kind = self._kinds[type(value)]
            if kind is None or not (self._deep or kind is MAPPING) or id(value) in self._reported:
                continue
            parts = map(id, kind.parts(value))
            if self._stale.ids.isdisjoint(parts) or self._is_left_out(namespace_, name, value):
                continue
            self._reported.add(id(value))
            words = namespace_.prefix + name
            if type(value) is FunctionType and "<" not in value.__qualname__:
                words = f"{value.__module__}:{value.__qualname__}"
            if kind is MAPPING:
                yield from self._keys(namespace_.module, words, value)
            if self._deep:
                yield from self._parts(namespace_.module, words, kind.named(value))

    def _keys(self, module: str, words: str, holder: dict[Any, Any]) -> Iterator[Holder]:
        """Yield keys that are copies; they can be repointed where they prove whose they are."""
        for key in keys_of(holder):
            if self._stale.site_of(key) is None:
                continue
            origin = self._stale.proven(key) or self._body_site(module, key)
            if type(holder) is not dict or origin is None or not origin.rebind:
                yield from self._parts(module, words, [(_A_KEY, key)])
            elif key is not origin.current:
                owner = _key_place(holder, key, words)
                yield Holder(words + _A_KEY, origin, owner, KEY, module)

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

    def _parts(self, module: str, words: str, parts: Iterable[tuple[str, Any]]) -> Iterator[Holder]:
        """Yield those parts of an object that are copies; none can be repointed."""
        for part_words, part in parts:
            site = self._stale.site_of(part)
            if site is None:
                continue
            if self._stale.is_its_own(part, site):
                yield Holder(words + part_words, site)
            elif self._knows(module, site):
                yield Holder(words + part_words + UNKNOWN, site)  # others share the value

    def _is_left_out(self, namespace_: _Namespace, name: str, value: Any) -> bool:
        """Whether a patch or a pack made it, or it says what is there (`__orig_bases__`)."""
        if name.startswith("__") and isinstance(value, (dict, list, tuple, set, frozenset)):
            return True
        if id(value) in self._stale.ours or self._keepers.sites.holds(namespace_.owner, name):
            return True
        if type(value) is not FunctionType:
            return False
        maker = value.__module__
        return isinstance(maker, str) and is_within(maker, self._keepers.packages)


def _namespace_in(cls: type, top: str) -> _Namespace | None:
    """Return the namespace of a class; None if it is of another package."""
    values = class_namespace(cls)
    home = values.get("__module__")
    if not isinstance(home, str) or home.partition(".")[0] != top:
        return None
    return _Namespace(cls, values, home)


def _kin(sites: Iterable[Site], *, late: bool) -> frozenset[int]:
    """Identify what a module has in its globals, if it has copied from the targets' modules.

    That is one of these modules, a package that it is reached through, or what one defines.
    """
    homes = set(map(home_of, sites)) - {""}
    names: set[str] = set()
    if late:
        tops = {home.partition(".")[0] for home in homes}
        prefixes = tuple(f"{top}." for top in tops)
        names.update(tops, (name for name in list(sys.modules) if name.startswith(prefixes)))
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


def _key_place(holder: dict[Any, Any], key: Any, name: str) -> Any:
    from patchkit.runtime.copies.keys import KeyPlace  # noqa: PLC0415 - few processes have one

    return KeyPlace(holder, key, name)


def _defined_in(home: str) -> Iterator[Any]:
    """Yield the functions and classes that a module defines, and has by name."""
    for value in tuple(namespace(sys.modules.get(home)).values()):
        type_ = type(value)
        if type_ is FunctionType:
            if value.__module__ == home:
                yield value
        elif issubclass(type_, type) and class_namespace(value).get("__module__") == home:
            yield value
