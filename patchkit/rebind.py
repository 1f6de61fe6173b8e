"""Copies of an original that `from x import y` left in other modules: find and repoint them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patchkit.changes.resolve import namespace

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    Repoint every copy of the sites' originals, in one pass over the modules' globals.

    The sites remember their copies and carry them along when a layer comes or goes.

    Args:
        sites: changed attributes.
        modules: names of the modules to look through.
        skip: names of packages that keep the originals (packs, whose bodies call them).

    Returns:
        The copies that were repointed.

    """
    wanted = {id(site.original): site for site in sites if can_be_traced(site.original)}
    if not wanted:
        return []
    found = [
        copy
        for name in modules
        if not _is_within(name, skip)
        for copy in _copies_in(name, namespace(sys.modules.get(name)), wanted)
    ]
    for copy in found:
        copy.site.aliases.append((namespace(sys.modules[copy.module]), copy.name))
        namespace(sys.modules[copy.module])[copy.name] = copy.site.current
    return found


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


def _copies_in(name: str, values: dict[str, Any], wanted: dict[int, Site]) -> list[Copy]:
    if wanted.keys().isdisjoint(map(id, tuple(values.values()))):
        return []
    copies = ((key, wanted.get(id(value))) for key, value in tuple(values.items()))
    return [
        Copy(name, key, site)
        for key, site in copies
        if site is not None and (site.owner, site.name) != (sys.modules[name], key)
    ]
