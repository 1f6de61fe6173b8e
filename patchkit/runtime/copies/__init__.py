"""Finds the copies of an original, repoints those that can be, and names the others.

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

    Args:
        modules: Their names.
        late: Whether they have had time to copy by any means: then those of the target's package
            are looked into also where they name nothing of the target's module.
    """

    modules: Sequence[str]
    late: bool = True


NO_MODULES = SearchScope((), late=False)
"""Nothing can have been copied yet."""


def all_modules() -> SearchScope:
    """Return the scope of all modules that are loaded."""
    return SearchScope(list(sys.modules))


def modules_since(name: str) -> SearchScope:
    """Return the scope of a module and of those that began to load after it did.

    At its first execution nobody else can have copied from it; what decorates its objects can have
    put them into modules that it names, which the pass adds.

    Args:
        name: The name of the module.

    Returns:
        The scope, the module that was loaded last first.
    """
    loaded = list(sys.modules)
    since = loaded.index(name) if name in loaded else 0
    return SearchScope(loaded[since:][::-1], late=False)


def untraced(site: Site) -> str | None:
    """Return why copies of the original of a `site` are not looked for; None if they are.

    None is also the answer if there is nothing that anybody could have copied from there.
    """
    if not site.own or isinstance(site.original, ModuleType) or can_be_traced(site.original):
        return None
    return f"a {type(site.original).__name__}, which is not told from its equals"


def subclasses_left(original: Any, replacement: Any) -> list[str]:
    """Name the classes that go on deriving from a replaced class; nothing can repoint a base.

    Args:
        original: What was replaced.
        replacement: What stands there instead.

    Returns:
        The subclasses, as messages show them; none if it is no class that was replaced.
    """
    if not isinstance(original, type) or not isinstance(replacement, type):
        return []
    subclasses: list[type] = type.__subclasses__(original)
    return [
        f"{subclass.__module__}:{subclass.__qualname__} (derives from it)"
        for subclass in subclasses
        if subclass not in replacement.__mro__
    ]


class Latecomers:
    """Modules that are half imported now, by other threads most often, or begin to be from now on.

    The pass may look into one before it takes its copy, from a module that the pass has yet to come
    to; or while the copy lies in the body of a class that is not there yet.

    Args:
        modules: The names of the modules that are loaded now.
    """

    def __init__(self, modules: Iterable[str]) -> None:
        self._loaded = frozenset(modules)
        importing = self._loaded & being_imported()
        self._half_imported = [name for name in importing if is_initializing(_spec(name))]

    def revisit(self, search: Callable[[str], None]) -> None:
        """Call `search` with the name of each as soon as it has been imported."""
        new = [name for name in list(sys.modules) if name not in self._loaded]
        for name in (*self._half_imported, *new):
            spec = _spec(name)
            is_postponed = is_initializing(spec) and when_initialized(spec, search, name)
            if not is_postponed:
                search(name)


def _spec(name: str) -> object:
    module = sys.modules.get(name)
    if module is None:
        return None
    return spec_of(module)
