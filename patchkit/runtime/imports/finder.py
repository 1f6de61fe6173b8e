"""Tells a watcher when a module is about to execute, and when it has executed.

A finder at the front of `sys.meta_path` asks the other finders, and instruments the loader that
they find. Probing, lazy loading and reloading all go through that loader, so they are seen too.

There are no locks here. Shared sets and lists change by single atomic operations, so that no lock
of ours is held while a loader, a hook or another finder runs.

`Finder` serves a session. `BodyFinder` serves a process that has none: it arms the process when
other code imports a body.
"""

import functools
import itertools
import sys
from _thread import get_ident
from collections.abc import Callable, Iterable, Sequence
from importlib import _bootstrap
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from patchkit.core.unchecked import CLAW, leave_unchecked
from patchkit.runtime.imports.half_imported import (
    is_half_imported,
    is_initializing,
    spec_of,
    when_initialized,
)
from patchkit.runtime.imports.loaders import (
    Notifier,
    Watcher,
    instrument,
    reporting_thread,
)

Path = Sequence[str] | None
"""Where a finder is to look: the `__path__` of the package around a module, None for a top one."""

_UTIL = "importlib.util"


class Finder:
    """Watches the imports of some modules, and tells a watcher of every execution of these.

    Args:
        watcher: is told of every execution.
        provide: is asked for the spec of a watched module that no other finder finds.
        on_risk: is called when modules may be imported unseen: the package of a watched module is
            about to be imported, or another finder came first.
    """

    def __init__(
        self,
        watcher: Watcher,
        provide: Callable[[str], ModuleSpec | None] | None = None,
        on_risk: Callable[[], object] | None = None,
    ) -> None:
        # The session; another copy of patchkit in this process asks for it.
        self.watcher = watcher
        self._notifier = Notifier(watcher)
        self._provide = provide
        self._on_risk = on_risk
        self._packages: set[str] = set()
        self._notifier.own[_UTIL] = _hook
        self._notifier.own[CLAW] = leave_unchecked
        self._asking: set[tuple[int, str]] = set()
        self._overtaken: list[object] = []

    def watch(self, names: Iterable[str]) -> None:
        """Watch more modules.

        Args:
            names: The dotted names of the modules.
        """
        new = frozenset(names)
        self._notifier.names.update(new)
        self._packages.update(name.partition(".")[0] for name in new)

    def install(self) -> None:
        """Start watching."""
        self._notifier.active = True
        if any(finder is self for finder in sys.meta_path):
            self._come_first()
        else:
            sys.meta_path.insert(0, self)
        # To import it costs up to 4 ms; where it is not there yet, its import is watched.
        util = sys.modules.get(_UTIL)
        if util is not None:
            _hook(util)

    def uninstall(self) -> None:
        """Stop watching; loaders that are instrumented already report nothing more."""
        self._notifier.active = False
        while any(finder is self for finder in sys.meta_path):
            sys.meta_path.remove(self)
        self._overtaken.clear()
        util: Any = sys.modules.get(_UTIL)
        if (
            util is not None
            and not _installed()
            and _is_ours(util.spec_from_file_location)
        ):
            util.spec_from_file_location = util.spec_from_file_location.__wrapped__

    def find_spec(
        self, name: str, path: Path = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find what the finders after this one find, or what is provided, and instrument it.

        Args:
            name: The dotted name of the module.
            path: Where to look, as importlib passes it.
            target: The module that is reloaded, if any.

        Returns:
            None where the module is not watched, or nobody finds it.
        """
        if sys.meta_path[0] is not self:
            self._come_first()
        if name in self._packages and self._on_risk is not None:
            self._on_risk()
        if name not in self._notifier.names and name not in self._notifier.own:
            return None
        key = (get_ident(), name)
        if key in self._asking:
            return None  # a finder that we ask asks all others in turn, and means those behind us
        self._asking.add(key)
        try:
            spec = self._spec_behind(name, path, target)
            if spec is None:
                spec = self._provided(name)
        finally:
            self._asking.discard(key)
        if spec is None:
            return None
        return instrument(name, spec, self._notifier)

    def _spec_behind(
        self, name: str, path: Path, target: ModuleType | None
    ) -> ModuleSpec | None:
        """Ask the finders after this one; all of them where it is not in the list."""
        finders: list[object] = list(sys.meta_path)
        start = 0
        for index, finder in enumerate(finders):
            if finder is self:
                start = index + 1
                break
        for finder in finders[start:]:
            find = getattr(finder, "find_spec", None)  # those of an old kind lack it
            if not find or finder is self:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def _provided(self, name: str) -> ModuleSpec | None:
        """Return the spec of a watched module that only a patch provides."""
        is_watched = self._notifier.active and name in self._notifier.names
        if self._provide is None or not is_watched:
            return None
        return self._provide(name)

    def instrument_spec(self, name: str, spec: ModuleSpec) -> None:
        """Instrument a spec that somebody made without asking finders, if the name is watched.

        Args:
            name: The dotted name of the module.
            spec: Its spec, whose loader is replaced.
        """
        if self._notifier.is_for(name):
            instrument(name, spec, self._notifier)

    def is_whole(self, name: str) -> bool:
        """Whether a module has been imported; if it is being imported, its end will be told.

        Args:
            name: The dotted name of the module.
        """
        module = sys.modules.get(name)
        if module is None:
            return False
        if is_half_imported(module):
            return not self.await_import(name, module)
        return True

    def await_import(self, name: str, module: ModuleType) -> bool:
        """Report the end of the import of a half-imported module to the watcher.

        While another thread reports the module, it is reported once more at the end: that thread
        may need a module that it waits for.

        Args:
            name: The dotted name of the module.
            module: What `sys.modules` holds for it.

        Returns:
            Whether the report will come. It does if the import succeeds, but not where the module
            is complete, also while this thread reports it.
        """
        if id(module) in self._notifier.executing:
            return True
        spec = spec_of(module)
        if not is_initializing(spec):
            return False
        thread = reporting_thread(spec)
        if thread is None:
            return when_initialized(spec, self._notifier.completed, name)
        if thread == get_ident():
            return False
        return when_initialized(spec, self._notifier.ended, name)

    def _come_first(self) -> None:
        """Move in front of a finder that was added later and may find a watched module itself.

        Each finder is overtaken once, as two that insist on being first would never end; a Finder
        never, as it asks those behind it. The old entry stays: another thread that iterates over
        the list asks a finder twice at worst; after a removal it would skip one.
        """
        before = itertools.takewhile(
            lambda finder: finder is not self, list(sys.meta_path)
        )
        strangers = [
            finder
            for finder in before
            if not isinstance(finder, Finder) and not self._has_overtaken(finder)
        ]
        if strangers:
            self._overtaken += strangers
            sys.meta_path.insert(0, self)
            if self._on_risk is not None:
                self._on_risk()

    def _has_overtaken(self, finder: object) -> bool:
        return any(finder is overtaken for overtaken in self._overtaken)


class BodyFinder(Finder):
    """Arms the process just before a body executes, which other code imports.

    Unpickling an object of a body imports the pack, and the pack imports patchkit, which installs
    this. A session loads bodies itself, so it does nothing where the process has one.

    Args:
        arm: Arms the process.
    """

    def __init__(self, arm: Callable[[], object]) -> None:
        super().__init__(self)  # it is the watcher of its own imports
        self._arm = arm

    def find_spec(
        self, name: str, path: Path = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Watch a name if it is that of a body, and find it as `Finder` does.

        Args:
            name: The dotted name of the module.
            path: Where to look, as importlib passes it.
            target: The module that is reloaded, if any.

        Returns:
            None where it is no body, nobody finds it, or the process has a session.
        """
        if _has_session():
            return None
        pack, _, tail = name.rpartition(".")
        if tail.startswith("patch_") and hasattr(sys.modules.get(pack), "PATCHES"):
            self.watch((name,))
        return super().find_spec(name, path, target)

    def importing(self, name: str) -> None:  # noqa: ARG002 - whichever body it is
        """Arm the process before a body executes and imports its targets, as a `Watcher` is told.

        Args:
            name: The dotted name of the body.
        """
        if not _has_session():
            self._arm()

    def _ignore(self, *_: object, **__: object) -> None:
        pass

    imported = import_ended = main_unreachable = _ignore


def watch_bodies(arm: Callable[[], object]) -> None:
    """Install a BodyFinder, unless there is one.

    Args:
        arm: Arms the process.
    """
    if not any(isinstance(finder, BodyFinder) for finder in sys.meta_path):
        BodyFinder(arm).install()


def _has_session() -> bool:
    return any(type(finder) is Finder for finder in sys.meta_path)


def let_pass(names: Iterable[str]) -> None:
    """Wait for what other threads have found before a finder was there, and not yet loaded.

    Args:
        names: The dotted names of modules that are watched now.
    """
    bootstrap: Any = _bootstrap
    for name in names:
        if name in bootstrap._module_locks and name not in sys.modules:  # noqa: SLF001
            bootstrap._lock_unlock_module(name)  # noqa: SLF001 - sees a deadlock, and passes


def others() -> list[Any]:
    """Return the sessions of other copies of patchkit, such as a vendored one, in this process."""
    finders = [
        finder for finder in list(sys.meta_path) if not isinstance(finder, Finder)
    ]
    watchers = [getattr(finder, "watcher", None) for finder in finders]
    sessions = [watcher for watcher in watchers if hasattr(watcher, "patches_on")]
    return list(dict.fromkeys(sessions))


def home(session: Any) -> str:
    """Return the name of the copy of patchkit that a session belongs to, and its file.

    Args:
        session: A session of any copy.
    """
    name = type(session).__module__.partition(".runtime.")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    return f"{name} ({file})"


def _hook(util: Any) -> None:
    """Have each finder see the specs that it makes; one hook serves them all."""
    original = util.spec_from_file_location
    if _is_ours(original):
        return

    @functools.wraps(original)
    def spec_from_file_location(
        name: str, *args: Any, **kwargs: Any
    ) -> ModuleSpec | None:
        spec: ModuleSpec | None = original(name, *args, **kwargs)
        if spec is not None:
            for finder in reversed(_installed()):
                finder.instrument_spec(name, spec)
        return spec

    # Where pickle finds it again; cloudpickle would send it, and all of us, by value.
    spec_from_file_location.__module__ = _UTIL
    util.spec_from_file_location = spec_from_file_location


def _is_ours(function: Any) -> bool:
    """Whether a function is defined in this module."""
    return getattr(function, "__globals__", None) is globals()


def _installed() -> list[Finder]:
    """Return the finders of this copy of patchkit, the foremost first."""
    finders = [finder for finder in list(sys.meta_path) if isinstance(finder, Finder)]
    return list(dict.fromkeys(finders))
