"""Modules whose source is known, and edits of their functions."""

from __future__ import annotations

import itertools
import linecache
from textwrap import dedent
from types import ModuleType
from typing import TYPE_CHECKING, Any

from patchkit import Edit
from patchkit.runtime.changes.context import Context
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import prepare

if TYPE_CHECKING:
    from patchkit.runtime.changes.source.edit import PreparedEdit

_numbers = itertools.count(1)


def loaded(source: str, name: str = "upstream") -> Any:
    """Execute a module of which `linecache` has the source, as of one in an archive."""
    source = dedent(source).rstrip() + "\n"
    file = f"/archive-{next(_numbers)}/{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(name)
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return module


class Desk:
    """Where one module's functions are edited.

    Args:
        upstream: source, or the module.
    """

    def __init__(self, upstream: str | ModuleType) -> None:
        self.upstream: Any = loaded(upstream) if isinstance(upstream, str) else upstream
        self.sites = Sites()
        self._rows = itertools.count()

    def context(self, rank: tuple[int, int], patch: str = "p") -> Context:
        """The context of a change with a rank; the module is its own body."""
        return Context(self.upstream, self.upstream, self.sites, patch, rank)

    def prepare(
        self,
        qualname: str,
        old: str,
        new: str,
        count: int = 1,
        rank: tuple[int, int] | None = None,
    ) -> PreparedEdit:
        """Prepare an edit, by default one of a row of its own that comes after all others."""
        change = Edit(f"upstream:{qualname}", old, new, count)
        context = self.context(rank or (next(self._rows), 0))
        prepared: Any = prepare(change, context)
        return prepared

    def edit(self, qualname: str, old: str, new: str, count: int = 1) -> PreparedEdit:
        """Prepare an edit of a row of its own, and apply it."""
        prepared = self.prepare(qualname, old, new, count)
        prepared.apply()
        return prepared
