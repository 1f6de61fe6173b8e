"""The walk over modules and their classes; deterministic, and each object once."""

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
UNKNOWN = " (nobody can tell where it is from)"


class _Namespace(NamedTuple):
    """A module or a class with its own attributes, and the name of the module."""

    owner: Any
    values: Mapping[str, Any]
    module: str

    @property
    def prefix(self) -> str:
        """`pkg.mod:`, or `pkg.mod:Class.`"""
        is_class = isinstance(self.owner, type)
        return f"{self.module}:" + (f"{self.owner.__qualname__}." if is_class else "")

    def place(self, key: str) -> tuple[Any, TargetStep]:
        """Tell what to write to; a module's dict, as its class may watch assignments."""
        return (self.owner, key) if isinstance(self.owner, type) else (self.values, Item(key))


class CopySearch:
    """A search for copies.

    Late, it looks into every module of the packages that are in scope, otherwise into those `near`
    and into those that know the targets' modules; deep, for what is out of reach too.
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
        self._seen: set[int] = set()
        self._told: set[int] = set()
        self._follow: set[tuple[str, Site]] = set()
        named = {name for site in stale.sites for name in site.rebind}
        self._packages = frozenset(named if late else near)
        self._prefixes = tuple(f"{name}." for name in self._packages if late)
        self._late = late

    def through(self, modules: Iterable[str]) -> Iterator[Holder]:
        """Find what holds a copy in these modules."""
        ids = self._stale.ids | _kin(self._stale.sites, late=self._late)
        loaded, read = sys.modules, object.__getattribute__
        packages, prefixes = self._packages, self._prefixes
        for name in modules:
            try:
                values = read(loaded.get(name), "__dict__")
            except AttributeError:
                continue
            if not isinstance(values, dict):
                continue  # a class that poses as a module has no dict that one may write to
            near = name.startswith(prefixes) or name in packages
            # In C from end to end, so that no other thread changes the dict meanwhile.
            if near or not ids.isdisjoint(map(id, values.values())):
                yield from self._look(_Namespace(loaded.get(name), values, name))

    def _look(self, module: _Namespace) -> Iterator[Holder]:
        name, wanted = module.module, self._stale.ids
        if name in self._keepers.bodies or is_within(name, OURS):
            return
        values = list(module.values.values())
        parts: list[Any] = []
        classes = self._inside(values, name.partition(".")[0], parts)
        if not wanted.isdisjoint(map(id, values)):
            for owner in (module, *classes):
                if not wanted.isdisjoint(map(id, tuple(owner.values.values()))):
                    yield from self._places(owner)
        if not wanted.isdisjoint(map(id, parts)) and not is_within(name, self._keepers.packages):
            for owner in (module, *classes):
                yield from self._holders(owner)

    def _inside(self, values: list[Any], top: str, parts: list[Any]) -> list[_Namespace]:
        """Find this package's new classes among values, and add their attributes to these.

        What new objects hold is added to `parts`.
        """
        kinds, deep, seen = self._kinds, self._deep, self._seen
        inside: list[_Namespace] = []
        for value in values:  # which grow with each class
            kind = kinds[type(value)]
            if kind is None or id(value) in seen:
                continue
            if kind is not CLASS:
                if deep:
                    parts += kind.parts(value)
                elif kind is MAPPING:
                    parts += keys_of(value)
            elif (cls := _of_package(value, top)) is not None:
                inside.append(cls)
                values += cls.values.values()
            else:
                continue
            seen.add(id(value))
        return inside

    # -- by name, where there is something ---------------------------------------------------------

    def _places(self, owner: _Namespace) -> Iterator[Holder]:
        for key, value in tuple(owner.values.items()):
            site = self._stale.site_of(value)
            if site is None or self._keepers.sites.holds(owner.owner, key):
                continue
            if id(value) in self._stale.values:
                yield from self._copy(owner, key, value)
            else:
                yield Holder(f"{owner.prefix}{key} (the function inside)", site)

    def _copy(self, owner: _Namespace, key: str, value: Any) -> Iterator[Holder]:
        stale, module = self._stale, owner.module
        claims = [site for site in stale.claims(value) if is_within(module, site.rebind)]
        if not claims and stale.proven(value) is None:
            return  # another package's business, most probably, and its code is not read
        origin = stale.origin(owner.owner, key, value)
        if origin is None:
            yield from (Holder(owner.prefix + key + UNKNOWN, site) for site in claims[:1])
        elif isinstance(origin, Site) and origin.rebind:
            self._follow.add((module, origin))
            if value is not origin.current:
                yield Holder(owner.prefix + key, origin, *owner.place(key), module)
            elif is_within(module, origin.rebind):
                self._keepers.sites.follow(origin, *owner.place(key))  # it is as it should be

    def _holders(self, owner: _Namespace) -> Iterator[Holder]:
        for key, value in tuple(owner.values.items()):
            kind = self._kinds[type(value)]
            if kind is None or not (self._deep or kind is MAPPING) or id(value) in self._told:
                continue
            parts = map(id, kind.parts(value))
            if self._stale.ids.isdisjoint(parts) or self._is_left_out(owner, key, value):
                continue
            self._told.add(id(value))
            is_named = type(value) is FunctionType and "<" not in value.__qualname__
            made = is_named and f"{value.__module__}:{value.__qualname__}"
            name = made or owner.prefix + key
            if kind is MAPPING:
                yield from self._keys_held(owner, name, value)
            if self._deep:
                yield from self._held(owner, name, kind.named(value))

    def _keys_held(self, owner: _Namespace, name: str, holder: dict[Any, Any]) -> Iterator[Holder]:
        """Find keys that are copies; they can be repointed where they prove whose they are."""
        words = " (a key)"
        for key in keys_of(holder):
            if self._stale.site_of(key) is None:
                continue
            origin = self._stale.proven(key) or self._given_by(owner, key)
            if type(holder) is not dict or origin is None or not origin.rebind:
                yield from self._held(owner, name, [(words, key)])
            elif key is not origin.current:
                yield Holder(name + words, origin, _key_place(holder, key, name), KEY, owner.module)

    def _given_by(self, owner: _Namespace, key: Any) -> Site | None:
        """Tell the site from which a module has an object of a body, by name and as a key."""
        claims = self._stale.claims(key)
        if len(claims) != 1 or key is claims[0].original:
            return None
        is_from_there = (owner.module, claims[0]) in self._follow
        return claims[0] if is_from_there or owner.module == home_of(claims[0]) else None

    def _held(
        self, owner: _Namespace, name: str, parts: Iterable[tuple[str, Any]]
    ) -> Iterator[Holder]:
        for words, part in parts:
            if (site := self._stale.site_of(part)) is None:
                continue
            if self._stale.is_its_own(part, site):
                yield Holder(name + words, site)
            elif (owner.module, site) in self._follow or owner.module == home_of(site):
                yield Holder(name + words + UNKNOWN, site)  # others share the value

    def _is_left_out(self, owner: _Namespace, key: str, value: Any) -> bool:
        """Whether a patch or a pack made it, or it says what is there (`__orig_bases__`)."""
        if key.startswith("__") and isinstance(value, (dict, list, tuple, set, frozenset)):
            return True
        if id(value) in self._stale.ours or self._keepers.sites.holds(owner.owner, key):
            return True
        made = type(value) is FunctionType and value.__module__
        return isinstance(made, str) and is_within(made, self._keepers.packages)


def _of_package(cls: type, top: str) -> _Namespace | None:
    values = class_namespace(cls)
    home = values.get("__module__")
    if not isinstance(home, str) or home.partition(".")[0] != top:
        return None
    return _Namespace(cls, values, home)


def _kin(sites: Iterable[Site], *, late: bool) -> frozenset[int]:
    """Identify what a module has in its globals, if it has copied from the targets' modules.

    That is one of these modules, a package that it is reached through, or what one defines.
    """
    homes = {home for site in sites if (home := home_of(site))}
    tops = {home.partition(".")[0] for home in homes}
    if late:
        inner = tuple(f"{top}." for top in tops)
        names = [*tops, *(name for name in list(sys.modules) if name.startswith(inner))]
    else:
        names = [outer for home in homes for outer in accumulate(home.split("."), "{}.{}".format)]
    modules = {id(sys.modules[name]) for name in names if sys.modules.get(name) is not None}
    return frozenset((*modules, *(id(value) for home in homes for value in _defined_in(home))))


def _key_place(holder: dict[Any, Any], key: Any, name: str) -> Any:
    from patchkit.runtime.copies.keys import KeyPlace  # noqa: PLC0415 - few processes have one

    return KeyPlace(holder, key, name)


def _defined_in(home: str) -> Iterator[Any]:
    for value in tuple(namespace(sys.modules.get(home)).values()):
        type_ = type(value)
        if type_ is FunctionType:
            if value.__module__ == home:
                yield value
        elif issubclass(type_, type) and class_namespace(value).get("__module__") == home:
            yield value
