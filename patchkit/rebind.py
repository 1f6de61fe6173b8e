"""Copies of an original that `from x import y` left in other modules: find and repoint them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patchkit.changes.resolve import namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def can_be_traced(original: Any) -> bool:
    """Whether identity tells a copy of this value from a chance equal."""
    return not isinstance(original, _ATOMS)


def repoint(sites: Iterable[Site], modules: Iterable[str], skip: tuple[str, ...]) -> list[Copy]:
    """
    Repoint every copy of what the sites held before, in one pass over the modules' globals.

    The sites remember the copies and carry them along when a layer comes or goes. A body's object
    is taken for a copy only under the target's name: somebody may have it from the body.

    Args:
        sites: changed attributes.
        modules: names of the modules to look through.
        skip: names of packages that keep the originals (packs, whose bodies call them).

    Returns:
        The copies that were repointed.

    """
    wanted = {id(value): site for site in sites for value in _outdated(site)}
    if not wanted:
        return []
    return [
        copy
        for name in modules
        if not _is_within(name, skip)
        for copy in _repoint_in(name, sys.modules.get(name), wanted)
    ]


def _outdated(site: Site) -> Iterator[Any]:
    values = (site.original, *site.wrappers, *site.replacements)
    return (value for value in values if value is not site.current and can_be_traced(value))


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


def _repoint_in(name: str, module: Any, wanted: dict[int, Site]) -> Iterator[Copy]:
    values = namespace(module)
    # A class that poses as a module has no dict that one may write to.
    if not isinstance(values, dict) or wanted.keys().isdisjoint(map(id, tuple(values.values()))):
        return
    for key, value in tuple(values.items()):
        site = wanted.get(id(value))
        if site is not None and _is_copy(site, module, key, value):
            site.aliases.append((values, key))
            values[key] = site.current
            yield Copy(name, key, site)


def _is_copy(site: Site, module: Any, key: str, value: Any) -> bool:
    if site.owner is module and site.name == key:
        return False
    theirs = any(value is replacement for replacement in site.replacements)
    return not theirs or key == site.name
