"""
Tells a watcher when a module is about to execute, and when it has.

A finder at the front of `sys.meta_path` asks the other finders itself and instruments the loader
that they found. What any tool makes of an import (probing, lazy loading, reloading) then tells the
watcher, because it passes through the loader.

There is no lock in here. Shared sets and lists change by single operations that are atomic, so
that nothing of ours is held while a loader, a hook or a stranger's finder runs.
"""

from __future__ import annotations

import itertools
import sys
from _thread import get_ident
from importlib import _bootstrap
from typing import TYPE_CHECKING

from patchkit.imports.half_imported import (
    is_half_imported,
    is_initializing,
    is_unloaded,
    spec_of,
    when_initialized,
)
from patchkit.imports.loaders import Notifier, Watcher, instrument, thread_telling
from patchkit.unchecked import CLAW, leave_unchecked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

__all__ = ["Finder", "Watcher", "is_half_imported"]


class Finder:
    """
    Watches the imports of some modules.

    Args:
        watcher: told of every execution of a watched module.
        provide: asked for the spec of a watched module that no other finder finds.
        stir: called where modules may come that nobody tells of: the package of a watched one is
            about to be imported, or a finder was in front of this one.

    """

    def __init__(
        self,
        watcher: Watcher,
        provide: Callable[[str], ModuleSpec | None] | None = None,
        stir: Callable[[], None] | None = None,
    ) -> None:
        self._notifier = Notifier(watcher)
        self._provide = provide
        self._stir = stir or _nothing
        self._packages: set[str] = set()
        self._notifier.own[CLAW] = leave_unchecked
        self._asking: set[tuple[int, str]] = set()
        self._overtaken: list[object] = []

    def watch(self, names: Iterable[str]) -> None:
        """Watch these modules too."""
        new = frozenset(names)
        self._notifier.names.update(new)
        self._packages.update(name.partition(".")[0] for name in new)

    def install(self) -> None:
        """Begin to watch."""
        self._notifier.active = True
        if any(finder is self for finder in sys.meta_path):
            self._come_first()
        else:
            sys.meta_path.insert(0, self)

    def uninstall(self) -> None:
        """Stop watching: leave no trace; the loaders that were instrumented tell nothing more."""
        self._notifier.active = False
        while any(finder is self for finder in sys.meta_path):
            sys.meta_path.remove(self)
        self._overtaken.clear()

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find what the finders behind this one find, or what is provided; instrument it."""
        if sys.meta_path[0] is not self:
            self._come_first()
        if name in self._packages:
            self._stir()
        if name not in self._notifier.names and name not in self._notifier.own:
            return None
        key = (get_ident(), name)
        if key in self._asking:
            return None  # a finder that we ask asks all others in turn, and means those behind us
        self._asking.add(key)
        try:
            spec = _first_spec(self._behind(), name, path, target) or self._provided(name)
        finally:
            self._asking.discard(key)
        return None if spec is None else instrument(name, spec, self._notifier)

    def await_import(self, name: str, module: ModuleType) -> bool:
        """
        Have the watcher told when a module that is half imported has been imported.

        Args:
            name: the module's name.
            module: what is in `sys.modules` under it now.

        Returns:
            Whether it will be told, provided that the import succeeds. False where the module is
            whole, so also while the watcher is being told of it in this thread. While that is so
            in another one, it is told once more at the end: what the other thread is about to do
            may need a module that it waits for.

        """
        if self._notifier.is_executing(module):
            return True
        spec = spec_of(module)
        if is_unloaded(module):
            self.watch((name,))
            instrument(name, spec, self._notifier)
            return True
        if not is_initializing(spec):
            return False
        if (telling := thread_telling(spec)) is None:
            return when_initialized(spec, self._notifier.completed, name)
        return telling != get_ident() and when_initialized(spec, self._notifier.ended, name)

    @property
    def watcher(self) -> Watcher:
        """Who is told; another copy of patchkit finds that one's session here."""
        return self._notifier.watcher

    def _provided(self, name: str) -> ModuleSpec | None:
        if self._provide is None or not self._notifier.active or name not in self._notifier.names:
            return None
        return self._provide(name)

    def _come_first(self) -> None:
        """
        Go in front of a finder that came later, as it may answer for a watched module itself.

        Each is overtaken once: one that comes back insists, and would for ever. The old entry
        stays, as other threads may be in a loop over the list: after an insertion they ask a
        finder twice at worst, after a removal they would leave one out.
        """
        before = itertools.takewhile(lambda finder: finder is not self, list(sys.meta_path))
        new = [finder for finder in before if not self._may_precede(finder)]
        if new:
            self._overtaken += new
            sys.meta_path.insert(0, self)
            self._stir()

    def _may_precede(self, finder: object) -> bool:
        # A Finder asks those behind it, this one too.
        return isinstance(finder, Finder) or any(finder is known for known in self._overtaken)

    def _behind(self) -> Iterator[object]:
        """The finders after this one; those before have had their turn."""
        finders: list[object] = list(sys.meta_path)
        place = next((at for at, finder in enumerate(finders) if finder is self), -1)
        return (finder for finder in finders[place + 1 :] if finder is not self)


def others() -> list[Any]:
    """Find the sessions of other copies of patchkit, such as a vendored one, in this process."""
    finders = [finder for finder in list(sys.meta_path) if not isinstance(finder, Finder)]
    watchers = [getattr(finder, "watcher", None) for finder in finders]
    return list(dict.fromkeys(session for session in watchers if hasattr(session, "patches_on")))


def home(session: Any) -> str:
    """Say which copy of patchkit a session is of, and where that lies."""
    name = type(session).__module__.rsplit(".", 2)[0]  # all but `process.session`
    return f"{name} ({getattr(sys.modules.get(name), '__file__', None)})"


def _nothing() -> None:
    pass


def _first_spec(
    finders: Iterable[object], name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    specs = (_ask(finder, name, path, target) for finder in finders)
    return next((spec for spec in specs if spec is not None), None)


def _ask(
    finder: object, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    find = getattr(finder, "find_spec", None)
    if find is None:
        # Up to Python 3.11 importlib knows finders of an older kind.
        old = getattr(_bootstrap, "_find_spec_legacy", None)
        return old(finder, name, path) if old is not None else None
    return find(name, path, target)  # type: ignore[no-any-return]
