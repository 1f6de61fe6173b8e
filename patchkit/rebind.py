"""Copies of an original that `from x import y` left in other modules: find and repoint them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from patchkit.changes.resolve import namespace
from patchkit.target import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from patchkit.changes.sites import Site

_ATOMS = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)
"""Values of these types are shared by code that has nothing to do with each other."""


@dataclass(frozen=True)
class Copy:
    """A module global that held an original."""

    module: str
    name: str
    site: Site

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


class Held(NamedTuple):
    """
    What the pass leaves alone.

    Args:
        packages: names of packages that keep the originals (packs, whose bodies call them).
        place: whether a patch lies on this attribute of this module.

    """

    packages: tuple[str, ...]
    place: Callable[[object, str], bool]


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of this value from a chance equal."""
    return not isinstance(original, _ATOMS)


def repoint(sites: Iterable[Site], modules: Iterable[str], held: Held) -> list[Copy]:
    """
    Repoint every copy of what the sites held before, in one pass over the modules' globals.

    The sites remember the copies and carry them along when a layer comes or goes. A body's object
    is taken for a copy only under the target's name: somebody may have it from the body.

    Args:
        sites: changed attributes.
        modules: names of the modules to look through.
        held: what is not to be repointed.

    Returns:
        The copies that were repointed.

    """
    sites = list(sites)
    outdated = {**_made(sites), **{id(site.original): site for site in sites if _is_old(site)}}
    return list(_repoint(outdated, modules, held))


def restore(sites: Iterable[Site], modules: Iterable[str], held: Held) -> None:
    """
    Repoint what was copied from the sites since they were changed, after layers were taken off.

    Args:
        sites: every attribute that is changed or was.
        modules: names of the modules to look through.
        held: what is not to be repointed.

    """
    for _ in _repoint(_made(sites), modules, held):
        pass


def _made(sites: Iterable[Site]) -> dict[int, Site]:
    values = ((value, site) for site in sites for value in (*site.wrappers, *site.replacements))
    return {
        id(value): site
        for value, site in values
        if value is not site.current and can_be_traced(value)
    }


def _is_old(site: Site) -> bool:
    changed = site.original is not site.current
    return changed and can_be_traced(site.original) and _is_at_home(site)


def _is_at_home(site: Site) -> bool:
    """
    Whether the target's own package made the original.

    Copies of what the target's module has from elsewhere (`from time import sleep`) come from there
    as well, and are none of the patch's business.
    """
    origin = getattr(site.original, "__module__", None)
    where = "__name__" if isinstance(site.owner, ModuleType) else "__module__"
    home = getattr(site.owner, where, None)
    if not (isinstance(origin, str) and isinstance(home, str)):
        return True
    return origin.partition(".")[0] == home.partition(".")[0]


def modules_since(name: str) -> list[str]:
    """Name the modules that began to load after module `name` did; they may have copied from it."""
    newer: list[str] = []
    for other in reversed(list(sys.modules)):
        if other == name:
            break
        newer.append(other)
    return newer


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the classes that go on deriving from a replaced class; nothing can repoint a base."""
    if not isinstance(original, type) or not isinstance(replacement, type):
        return []
    subclasses: list[type] = type.__subclasses__(original)
    return [
        f"{sub.__module__}:{sub.__qualname__}"
        for sub in subclasses
        if not issubclass(replacement, sub)
    ]


def _is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def _repoint(outdated: dict[int, Site], modules: Iterable[str], held: Held) -> Iterator[Copy]:
    for name in modules if outdated else ():
        if not _is_within(name, held.packages):
            yield from _repoint_in(name, sys.modules.get(name), outdated, held)


def _repoint_in(name: str, module: Any, outdated: dict[int, Site], held: Held) -> Iterator[Copy]:
    values = namespace(module)
    # A class that poses as a module has no dict that one may write to.
    if not isinstance(values, dict) or outdated.keys().isdisjoint(map(id, tuple(values.values()))):
        return
    for key, value in tuple(values.items()):
        site = outdated.get(id(value))
        if site is not None and not held.place(module, key) and _is_copy(site, key, value):
            site.aliases.append((values, Item(key)))
            values[key] = site.current
            yield Copy(name, key, site)


def _is_copy(site: Site, key: str, value: Any) -> bool:
    theirs = any(value is replacement for replacement in site.replacements)
    return not theirs or key == site.name
