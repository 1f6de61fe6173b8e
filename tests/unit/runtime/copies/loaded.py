"""Modules in memory with changed attributes, for the tests of the passes over copies."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

from support.layers import push
from support.packages import module_of

from patchkit.runtime import copies
from patchkit.runtime.changes.owners import locate
from patchkit.runtime.changes.site import Layer, Site
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.copies.repointing import repoint, restore
from patchkit.runtime.copies.scope import Holder, Keepers, scope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pytest

UPSTREAM = """
def function(): return 'old'
class Thing:
    def method(self): ...
    @staticmethod
    def static(): ...
    @classmethod
    def klass(cls): ...
    @property
    def prop(self): ...
class Sub(Thing): ...
NUMBER, TEXT, PAIR, NOTHING = 8, 'text', (1, 2), None
TABLE = {}
"""


class Loaded:
    """Modules in memory that `sys.modules` holds until the test ends; `up` is upstream."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.sites = Sites()
        self.bodies: tuple[str, ...] = ()
        self.up = self.add("up", UPSTREAM)

    def add(self, name: str, source: str = "", **values: Any) -> Any:
        """Add a module; it knows upstream as `up`."""
        module = module_of("", name)
        self._monkeypatch.setitem(sys.modules, name, module)
        vars(module).update(values)
        if name != "up":
            vars(module)["up"] = self.up
        code = compile(source, name, "exec")
        module.__spec__ = ModuleSpec(name, SourceLoader(source))  # type: ignore[arg-type]
        exec(code, vars(module))
        return module

    def site(self, qualname: str, declared: bool | Collection[str] = True) -> Site:
        """Find the site of an upstream attribute that is to be changed."""
        site = self.sites.at(locate(self.up, qualname))
        site.rebind |= scope_of("up", declared)
        return site

    def changed(
        self, qualname: str, new: Any = None, declared: bool | Collection[str] = True
    ) -> tuple[Site, Callable[[], None]]:
        """Put a new object on an upstream attribute; return its site, and what takes it off."""
        site = self.site(qualname, declared)
        new = New() if new is None else new
        return site, push(site, Layer(lambda _: new))

    def repoint(
        self, *sites: Site, keepers: tuple[str, ...] = ()
    ) -> tuple[list[str], list[str]]:
        """Run one pass over all modules: words of what was repointed, and of what is left."""
        outcome = repoint(sites, copies.scope.all_modules(), self._keepers(keepers))
        return words(outcome.rebound), words(outcome.left)

    def restore(self, *sites: Site) -> list[str]:
        """Run the pass after an undo; return words of what it restored."""
        return words(
            restore(sites, copies.scope.all_modules(), self._keepers(())).rebound
        )

    def _keepers(self, keepers: tuple[str, ...]) -> Keepers:
        return Keepers(keepers, self.bodies, self.sites)


class SourceLoader:
    """A loader that keeps the source of its module.

    Args:
        source: the source.
    """

    def __init__(self, source: str) -> None:
        self._source = source

    def get_source(self, _name: str) -> str:
        """Return the source."""
        return self._source


class New:
    """An object that a patch puts in place of the original."""

    def __call__(self) -> None: ...


def words(copies: Collection[Holder]) -> list[str]:
    """Return what messages call the copies, sorted."""
    return sorted(copy.words for copy in copies)
