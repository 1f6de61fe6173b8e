"""Copies of an original: those that can be repointed are, the others are named.

A copy is found by identity, and known by where it was bound from: the same object elsewhere is
somebody else's. What `from x import y` left in a module and what a class body stored is repointed,
where the row's `rebind` says so. What holds one otherwise (a default, a closure, a container) is
out of reach.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from patchkit.runtime.changes.sites import Site
from patchkit.runtime.copies.scope import can_be_traced
from patchkit.runtime.imports.half_imported import (
    being_imported,
    is_initializing,
    spec_of,
    when_initialized,
)


class SearchScope(NamedTuple):
    """The modules to look through.

    Late, they have had time to copy by any way: those of the target's package are looked into also
    where they name nothing of the target's module.
    """

    modules: Sequence[str]
    late: bool = True


NO_MODULES = SearchScope((), late=False)
"""Nothing can have been copied yet."""


def all_modules() -> SearchScope:
    """Look through all modules."""
    return SearchScope(list(sys.modules))


def modules_since(name: str) -> SearchScope:
    """Look through a module and those that began to load after it did.

    At its first execution nobody else can have copied from it; what decorates its objects can have
    put them into modules that it names, which the pass adds.
    """
    loaded = list(sys.modules)
    since = loaded.index(name) if name in loaded else 0
    return SearchScope(loaded[since:][::-1], late=False)


def untraced(site: Site) -> str | None:
    """Say why copies of an original are not looked for, or None if they are."""
    if not site.own or isinstance(site.original, ModuleType) or can_be_traced(site.original):
        return None  # or there is nothing that anybody could have copied from here
    return f"a {type(site.original).__name__}, which is not told from its equals"


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the classes that go on deriving from a replaced class; nothing can repoint a base."""
    if not isinstance(original, type) or not isinstance(replacement, type):
        return []
    subclasses: list[type] = type.__subclasses__(original)
    left = [sub for sub in subclasses if sub not in replacement.__mro__]
    return [f"{sub.__module__}:{sub.__qualname__} (derives from it)" for sub in left]


class Latecomers:
    """Modules that are half imported now, by other threads most often, or begin to be from now on.

    The pass may look into one before it takes its copy, from a module that the pass has yet to come
    to; or while the copy lies in the body of a class that is not there yet.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._known = frozenset(modules)
        self._half = [
            name for name in self._known & being_imported() if is_initializing(_spec(name))
        ]

    def revisit(self, look: Callable[[str], None]) -> None:
        """Call `look(name)` of each as soon as it has been imported."""
        new = [name for name in list(sys.modules) if name not in self._known]
        for name in (*self._half, *new):
            spec = _spec(name)
            if not (is_initializing(spec) and when_initialized(spec, look, name)):
                look(name)


def _spec(name: str) -> object:
    module = sys.modules.get(name)
    return None if module is None else spec_of(module)
