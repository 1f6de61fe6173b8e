"""The walk over modules and their classes; deterministic, and each object once."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.owners import namespace
from patchkit.changes.sites import Site
from patchkit.copies.parts import CLASS, FUNCTION, Kinds, class_namespace
from patchkit.copies.scope import Held, home_of, is_within
from patchkit.rows.target import Item, Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from patchkit.copies.wanted import Wanted

OURS = ("patchkit",)
UNKNOWN = " (nobody can tell where it is from)"


class Found(NamedTuple):
    """
    What holds a copy.

    Args:
        words: where it is.
        site: where the copy is from.
        owner: what it can be repointed on; None where nothing can be.
        step: the attribute or item of the owner.
        module: name of the module that it is in.

    """

    words: str
    site: Site
    owner: Any = None
    step: Step = ""
    module: str = ""


class _Room(NamedTuple):
    """
    A module or a class with what it holds.

    Args:
        owner: the module or class.
        values: its own attributes.
        prefix: `pkg.mod:`, or `pkg.mod:Class.`
        module: name of the module.

    """

    owner: Any
    values: Mapping[str, Any]
    prefix: str
    module: str

    def place(self, key: str) -> tuple[Any, Step]:
        """Tell what to write to; a module's dict, as its class may watch assignments."""
        return (self.owner, key) if isinstance(self.owner, type) else (self.values, Item(key))


class _Inside(NamedTuple):
    """
    What lies in a module's objects.

    Args:
        classes: those of the module's package, nested ones too.
        attributes: theirs.
        parts: what everything else holds.

    """

    classes: list[type]
    attributes: list[Any]
    parts: list[Any]


class Search:
    """
    A search for copies.

    Args:
        wanted: what to look for.
        held: what to leave alone.
        late: whether to look into every module of the packages that are in scope.
        near: names of further modules to look into.
        deep: whether to look for what is out of reach too.

    """

    def __init__(
        self,
        wanted: Wanted,
        held: Held,
        *,
        late: bool,
        near: Collection[str] = (),
        deep: bool = True,
    ) -> None:
        self._wanted = wanted
        self._held = held
        self._deep = deep
        self._kinds = Kinds()
        self._seen: set[int] = set()
        self._opened: set[int] = set()
        self._told: set[int] = set()
        self._follow: set[tuple[str, Site]] = set()
        named = {name for site in wanted.sites for name in site.rebind if ":" not in name}
        self._packages = frozenset(named if late else near)
        self._prefixes = tuple(f"{name}." for name in self._packages if late)
        self._late = late

    def through(self, modules: Iterable[str]) -> Iterator[Found]:
        """Find what holds a copy in these modules."""
        ids = self._wanted.ids | _kin(self._wanted.sites, late=self._late)
        loaded, read = sys.modules, object.__getattribute__
        for name in modules:
            module = loaded.get(name)
            try:
                values = read(module, "__dict__")
            except AttributeError:
                continue
            if not isinstance(values, dict):
                continue  # a class that poses as a module has no dict that one may write to
            near = name.startswith(self._prefixes) or name in self._packages
            objects = tuple(values.values())
            if near or not ids.isdisjoint(map(id, objects)):
                room = _Room(module, values, f"{name}:", name)
                yield from self._look(room, objects)

    def _look(self, room: _Room, objects: tuple[Any, ...]) -> Iterator[Found]:
        """Look into a module: for anything at all first, and by name where there is something."""
        if room.module in self._held.bodies or is_within(room.module, OURS):
            return
        found = self._inside(objects, room.module.partition(".")[0])
        wanted = self._wanted.ids
        if not wanted.isdisjoint(map(id, objects)):
            yield from self._places(room)
        if not wanted.isdisjoint(map(id, found.attributes)):
            for cls in found.classes:
                yield from self._places(_room_of(cls))
        if is_within(room.module, self._held.packages):
            return
        if not wanted.isdisjoint(map(id, found.parts)):
            for one in (room, *map(_room_of, found.classes)):
                yield from self._holders(one)

    def _inside(self, objects: Iterable[Any], top: str) -> _Inside:
        """Collect what new objects hold, and the classes of this package among and in them."""
        seen = self._seen
        level = [value for value in objects if id(value) not in seen]
        seen.update(map(id, level))
        found = _Inside([], [], [])
        while level:
            classes = [cls for cls in self._open(level, found.parts) if _is_of(cls, top)]
            level = [value for cls in classes for value in class_namespace(cls).values()]
            found.classes.extend(classes)
            found.attributes.extend(level)
        return found

    def _open(self, level: Iterable[Any], held: list[Any]) -> list[type]:
        """Add what objects hold to `held`; return the classes among them that are new."""
        kinds, deep, classes = self._kinds, self._deep, []
        for value in level:
            kind = kinds[type(value)]
            if kind is None or not (deep or kind is CLASS):
                continue
            if kind is FUNCTION:
                if value.__closure__ is not None:
                    held += FUNCTION.parts(value)
                    continue
                if (defaults := value.__defaults__) is not None:
                    held += defaults
                if (keyword := value.__kwdefaults__) is not None:
                    held += keyword.values()
            elif kind is not CLASS:
                held += kind.parts(value)
            elif id(value) not in self._opened:
                self._opened.add(id(value))
                classes.append(value)
        return classes

    # -- by name, where there is something ---------------------------------------------------------

    def _places(self, room: _Room) -> Iterator[Found]:
        for key, value in tuple(room.values.items()):
            site = self._wanted.site_of(value)
            if site is None or self._held.sites.holds(room.owner, key):
                continue
            if id(value) in self._wanted.stale:
                yield from self._copy(room, key, value)
            else:
                yield Found(f"{room.prefix}{key} (the function inside)", site)

    def _copy(self, room: _Room, key: str, value: Any) -> Iterator[Found]:
        """Tell a place that got its value from a site, or that may have."""
        claims = [one for one in self._wanted.claims(value) if is_within(room.module, one.rebind)]
        if not claims and self._wanted.proven(value) is None:
            return  # another package's business, most probably, and its code is not read
        origin = self._wanted.origin(room.owner, key, value)
        if origin is None:
            yield from (Found(room.prefix + key + UNKNOWN, site) for site in claims[:1])
        elif isinstance(origin, Site) and origin.rebind:
            self._follow.add((room.module, origin))
            if value is not origin.current:
                yield Found(room.prefix + key, origin, *room.place(key), room.module)
            elif is_within(room.module, origin.rebind):
                self._held.sites.follow(origin, *room.place(key))  # it is as it should be already

    def _holders(self, room: _Room) -> Iterator[Found]:
        for key, value in tuple(room.values.items()):
            kind = self._kinds[type(value)]
            if kind is None or _is_about_code(key, value):
                continue
            if self._wanted.ids.isdisjoint(map(id, kind.parts(value))):
                continue
            if id(value) in self._told or self._is_ours(room, key, value):
                continue
            self._told.add(id(value))
            for words, part in kind.named(value):
                if (site := self._wanted.site_of(part)) is not None:
                    yield from self._held_by(room, _name(room, key, value) + words, part, site)

    def _held_by(self, room: _Room, words: str, part: Any, site: Site) -> Iterator[Found]:
        """Tell what holds a value; of one that others share, where the target is named too."""
        if self._wanted.is_its_own(part, site):
            yield Found(words, site)
        elif (room.module, site) in self._follow or room.module == home_of(site):
            yield Found(words + UNKNOWN, site)

    def _is_ours(self, room: _Room, key: str, value: Any) -> bool:
        if id(value) in self._wanted.ours or self._held.sites.holds(room.owner, key):
            return True
        made = type(value) is FunctionType and value.__module__
        return isinstance(made, str) and is_within(made, self._held.packages)


def _room_of(cls: type) -> _Room:
    values = class_namespace(cls)
    home = str(values.get("__module__"))
    return _Room(cls, values, f"{home}:{cls.__qualname__}.", home)


def _is_of(cls: type, top: str) -> bool:
    """Whether a class belongs to a package; those of others are found with their own modules."""
    home = class_namespace(cls).get("__module__")
    return isinstance(home, str) and home.partition(".")[0] == top


def _is_about_code(key: str, value: Any) -> bool:
    """Whether it only says what is there: `__annotations__`, `__orig_bases__`, `__all__`."""
    return key.startswith("__") and isinstance(value, (dict, list, tuple, set, frozenset))


def _name(room: _Room, key: str, value: Any) -> str:
    """Name a function by where it was made, and everything else by where it was found."""
    if type(value) is FunctionType and "<" not in value.__qualname__:
        return f"{value.__module__}:{value.__qualname__}"
    return room.prefix + key


def _kin(sites: Iterable[Site], *, late: bool) -> frozenset[int]:
    """
    Identify what a module has in its globals, if it has copied from the targets' modules.

    That is one of these modules, a package that it is reached through, or what one defines.
    """
    homes = {home for site in sites if (home := home_of(site))}
    tops = {home.partition(".")[0] for home in homes}
    if late:
        names = [name for name in list(sys.modules) if name.partition(".")[0] in tops]
    else:
        names = [outer for home in homes for outer in _outer(home)]
    modules = {id(sys.modules[name]) for name in names if sys.modules.get(name) is not None}
    return frozenset((*modules, *(id(one) for home in homes for one in _defined_in(home))))


def _outer(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def _defined_in(home: str) -> Iterator[Any]:
    values = namespace(sys.modules.get(home))
    for value in tuple(values.values()):
        type_ = type(value)
        if type_ is FunctionType:
            if value.__module__ == home:
                yield value
        elif issubclass(type_, type) and class_namespace(value).get("__module__") == home:
            yield value
