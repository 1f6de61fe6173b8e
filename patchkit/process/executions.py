"""Which modules are there, whole or by half, and how often each has executed."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING

from patchkit.changes.owners import MISSING, namespace
from patchkit.imports.half_imported import is_half_imported
from patchkit.process.plan import AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from patchkit.imports.finder import Finder
    from patchkit.process.patch_state import GroupState


class Executions:
    """The modules that patches are for, and the bodies."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._counts: dict[str, int] = {}
        self._postponed: dict[str, list[GroupState]] = {}
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the other threads, which are gone."""
        self._counting = threading.Lock()

    def note(self, module: str) -> None:
        """Count one more."""
        with self._counting:
            self._counts[module] = self._counts.get(module, 0) + 1

    def now(self, group: GroupState, module: ModuleType | None) -> tuple[int, int]:
        """Name the execution that a group would be applied to now."""
        count = self._counts.get(group.plan.module, 0)
        return count, id(module) if group.plan.moment == AFTER else 0

    def is_settled(self, group: GroupState) -> bool:
        """Whether a group is applied to the module as it is now, and not about to be anew."""
        if group.thread is not None or group.applied_to is None:
            return False
        return group.applied_to[0] == self._counts.get(group.plan.module, 0)

    def is_whole(self, name: str) -> bool:
        """Whether a module has been imported; if it is being imported, its end will be told."""
        module = sys.modules.get(name)
        if module is None:
            return False
        return not (is_half_imported(module) and self._finder.await_import(name, module))

    def postpone(self, group: GroupState, needed: str) -> bool:
        """Have a group wait for the end of an import; False where that has come."""
        self._postponed.setdefault(needed, []).append(group)  # first: it may come any time
        return not self.is_whole(needed)

    def postponed(self, needed: str) -> list[GroupState]:
        """Return the groups that have waited for a module, once."""
        return self._postponed.pop(needed, [])

    def awaits(self, group: GroupState) -> bool:
        """Whether a group is applied at the end of an import, by the thread that imports."""
        names = [name for name, groups in list(self._postponed.items()) if group in groups]
        return any(name in sys.modules and is_half_imported(sys.modules[name]) for name in names)


@contextlib.contextmanager
def bound_in_parent(name: str, module: ModuleType) -> Iterator[None]:
    """
    Let bodies write `import a.b` and use `a.b` while it is being imported.

    importlib makes `b` an attribute of `a` only after that, and not at all where it fails.
    """
    parent, _, child = name.rpartition(".")
    outer = namespace(sys.modules.get(parent))
    former = outer.get(child, MISSING)
    if former is module or not isinstance(outer, dict):
        yield
        return
    outer[child] = module
    try:
        yield
    except BaseException:
        outer.pop(child, None)  # an undo may have done it
        if former is not MISSING:
            outer[child] = former
        raise
