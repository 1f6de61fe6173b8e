"""Tells a watcher when a module is about to execute, and when it has executed.

A finder at the front of `sys.meta_path` asks the other finders, and replaces the loader that they
find by one that reports. Lazy loading and reloading use that loader, so they are reported, too.

There are no locks here, as none may be held while a loader, a hook or another finder runs. Shared
sets and lists change by single atomic operations instead.

`Finder` is for a session. `BodyFinder` is for a process without one: it arms the process when other
code imports a body.
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
"""Where a finder is to look: the `__path__` of the module's package; None for a module in none."""

_UTIL = "importlib.util"


class Finder:
    """Watches the imports of some modules, and reports every execution of one to a watcher.

    Args:
        watcher: What executions are reported to.
        provide: Returns the spec of a watched module that no other finder finds, or None.
        on_risk: Called when modules may be imported without this finder: the package of a watched
            module is about to be imported, or another finder came first.
    """

    def __init__(
        self,
        watcher: Watcher,
        provide: Callable[[str], ModuleSpec | None] | None = None,
        on_risk: Callable[[], object] | None = None,
    ) -> None:
        # The session; another copy of patchkit in this process reads it, see `other_sessions`.
        self.watcher = watcher
        self._notifier = Notifier(watcher)
        self._provide = provide
        self._on_risk = on_risk
        self._packages: set[str] = set()  # the top-level packages of watched modules
        # What patchkit itself does once one of these modules has been imported.
        self._notifier.own[_UTIL] = _hook
        self._notifier.own[CLAW] = leave_unchecked
        # The searches that go on now: a thread, and the name that it searches for.
        self._searches: set[tuple[int, str]] = set()
        # The finders that this one was moved in front of.
        self._overtaken: list[object] = []

    def watch(self, names: Iterable[str]) -> None:
        """Watch more modules.

        Args:
            names: The dotted names of the modules.
        """
        new_names = frozenset(names)
        self._notifier.names.update(new_names)
        self._packages.update(name.partition(".")[0] for name in new_names)

    def install(self) -> None:
        """Start watching."""
        self._notifier.active = True
        if any(finder is self for finder in sys.meta_path):
            self._come_first()
        else:
            sys.meta_path.insert(0, self)
        # If `importlib.util` is not imported yet, `_hook` waits for its import. To import it here
        # would take up to 4 ms.
        util = sys.modules.get(_UTIL)
        if util is not None:
            _hook(util)

    def uninstall(self) -> None:
        """Stop watching: loaders that report do so no more, and hooks are removed."""
        self._notifier.active = False
        # It may be in the list several times, see `_come_first`.
        while any(finder is self for finder in sys.meta_path):
            sys.meta_path.remove(self)
        self._overtaken.clear()
        util: Any = sys.modules.get(_UTIL)
        # The last finder removes the wrapper of `_hook`, unless other code has wrapped that.
        if (
            util is not None
            and not _installed()
            and _is_ours(util.spec_from_file_location)
        ):
            util.spec_from_file_location = util.spec_from_file_location.__wrapped__

    def find_spec(
        self, name: str, path: Path = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a watched module by the other finders or `provide`, with a loader that reports.

        Args:
            name: The dotted name of the module.
            path: Where to look, as importlib passes it.
            target: The module that is reloaded, if any.

        Returns:
            The spec; None if the module is not watched, or is not found.
        """
        if sys.meta_path[0] is not self:
            self._come_first()
        if name in self._packages and self._on_risk is not None:
            self._on_risk()
        if name not in self._notifier.names and name not in self._notifier.own:
            return None
        search = (get_ident(), name)
        if search in self._searches:
            # A finder that was asked below searches with all finders, so this one is asked again.
            return None
        self._searches.add(search)
        try:
            spec = self._spec_behind(name, path, target)
            if spec is None:
                spec = self._provided(name)
        finally:
            self._searches.discard(search)
        if spec is None:
            return None
        return instrument(name, spec, self._notifier)

    def _spec_behind(
        self, name: str, path: Path, target: ModuleType | None
    ) -> ModuleSpec | None:
        """Ask the finders after this one in `sys.meta_path`; all if it was removed from there."""
        finders: list[object] = list(sys.meta_path)
        start = 0  # if this finder is not among them
        for index, finder in enumerate(finders):
            if finder is self:
                start = index + 1
                break
        for finder in finders[start:]:
            # None in a finder for Python 3.3. This finder comes again if it was moved to the front.
            find = getattr(finder, "find_spec", None)
            if not find or finder is self:
                continue
            spec = find(name, path, target)
            if spec is not None:
                return spec  # type: ignore[no-any-return]
        return None

    def _provided(self, name: str) -> ModuleSpec | None:
        """Return the spec of a watched module that a patch provides; None if none does."""
        is_watched = self._notifier.active and name in self._notifier.names
        if self._provide is None or not is_watched:
            return None
        return self._provide(name)

    def instrument_spec(self, name: str, spec: ModuleSpec) -> None:
        """Have a spec report executions that was made without finders, if its module is watched.

        Args:
            name: The dotted name of the module.
            spec: Its spec, whose loader is replaced by one that reports.
        """
        if self._notifier.is_for(name):
            instrument(name, spec, self._notifier)

    def is_whole(self, name: str) -> bool:
        """Whether a module has been imported completely.

        If it is being imported, False, and the watcher is told when the import ends.

        Args:
            name: The dotted name of the module.
        """
        module = sys.modules.get(name)
        if module is None:
            return False
        if is_half_imported(module):
            # No report will come if the import has ended just now.
            return not self.await_import(name, module)
        return True

    def await_import(self, name: str, module: ModuleType) -> bool:
        """Have the end of the import of a module reported to the watcher.

        A module that another thread has executed and reports now is reported again when its import
        ends, as until then the two threads may each need a module that the other one imports.

        Args:
            name: The dotted name of the module.
            module: The module in `sys.modules`.

        Returns:
            Whether a report will come if the import succeeds; False if the module is complete,
            also if it is this thread that reports it now.
        """
        if id(module) in self._notifier.executing:
            return True  # its loader will report it
        spec = spec_of(module)
        if not is_initializing(spec):
            return False
        thread = reporting_thread(spec)
        if thread is None:
            # Its loader does not report: it was found before this finder came.
            return when_initialized(spec, self._notifier.completed, name)
        if thread == get_ident():
            return False
        return when_initialized(spec, self._notifier.ended, name)

    def _come_first(self) -> None:
        """Move to the front of `sys.meta_path` if other finders were put before this one.

        They might find a watched module, and this finder would not be asked. It moves in front of
        each finder once only: two that both insist on being first would never stop. It does not
        move in front of another Finder, as that asks the finders behind it.

        The old entry stays in the list. Another thread that is iterating over it then asks this
        finder twice at worst; if the entry were removed, it could skip the next finder.
        """
        before = itertools.takewhile(
            lambda finder: finder is not self, list(sys.meta_path)
        )
        new_finders = [
            finder
            for finder in before
            if not isinstance(finder, Finder) and not self._has_overtaken(finder)
        ]
        if new_finders:
            self._overtaken += new_finders
            sys.meta_path.insert(0, self)
            if self._on_risk is not None:
                self._on_risk()

    def _has_overtaken(self, finder: object) -> bool:
        """Whether this finder was moved in front of another one, which is compared by identity."""
        return any(finder is overtaken for overtaken in self._overtaken)


class BodyFinder(Finder):
    """Arms the process when other code than patchkit imports a body, just before that executes.

    Unpickling an object of a body imports the pack, and the pack imports patchkit, which installs
    this finder. It does nothing in a process with a session, which loads bodies itself.

    Args:
        arm: Arms the process.
    """

    def __init__(self, arm: Callable[[], object]) -> None:
        super().__init__(watcher=self)
        self._arm = arm

    def find_spec(
        self, name: str, path: Path = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Watch a module if it is a body, and find it as `Finder` does.

        Args:
            name: The dotted name of the module.
            path: Where to look, as importlib passes it.
            target: The module that is reloaded, if any.

        Returns:
            The spec; None if it is no body, is not found, or the process has a session.
        """
        if _has_session():
            return None
        pack, _, tail = name.rpartition(".")
        if tail.startswith("patch_") and hasattr(sys.modules.get(pack), "PATCHES"):
            self.watch((name,))
        return super().find_spec(name, path, target)

    def importing(self, name: str) -> None:  # noqa: ARG002 - whichever body it is
        """Arm the process before a body executes, as that imports its targets' modules.

        Args:
            name: The dotted name of the body.
        """
        if not _has_session():
            self._arm()

    def _ignore(self, *_: object, **__: object) -> None:
        """Do nothing, in place of the other methods of a `Watcher`."""

    imported = import_ended = main_unreachable = _ignore


def watch_bodies(arm: Callable[[], object]) -> None:
    """Install a BodyFinder, unless there is one.

    Args:
        arm: Arms the process.
    """
    if not any(isinstance(finder, BodyFinder) for finder in sys.meta_path):
        BodyFinder(arm).install()


def _has_session() -> bool:
    """Whether the finder of a session, which is a plain `Finder`, is installed."""
    return any(type(finder) is Finder for finder in sys.meta_path)


def let_pass(names: Iterable[str]) -> None:
    """Wait for other threads that are between finding one of some modules and executing it.

    They have found it without the finder that now watches it, so its loader does not report.

    Args:
        names: The dotted names of modules that are watched now.
    """
    bootstrap: Any = _bootstrap
    for name in names:
        if name in bootstrap._module_locks and name not in sys.modules:  # noqa: SLF001
            # importlib's function waits for the module's lock, but not if that were a deadlock.
            bootstrap._lock_unlock_module(name)  # noqa: SLF001


def other_sessions() -> list[Any]:
    """Return the sessions of other copies of patchkit, such as a vendored one, in this process.

    The finders of another copy are of another class, so they are known by their `watcher`, and a
    session among the watchers by its method `patches_on`.
    """
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
    # Such as `vendor.patchkit` for `vendor.patchkit.runtime.process.session`.
    name = type(session).__module__.partition(".runtime.")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    return f"{name} ({file})"


def _hook(util: Any) -> None:
    """Wrap `importlib.util.spec_from_file_location`, so that the specs that it makes report, too.

    Code that makes a spec from a file asks no finder. One wrapper is enough for all finders.

    Args:
        util: The module `importlib.util`.
    """
    original = util.spec_from_file_location
    if _is_ours(original):
        return

    @functools.wraps(original)
    def spec_from_file_location(
        name: str, *args: Any, **kwargs: Any
    ) -> ModuleSpec | None:
        spec: ModuleSpec | None = original(name, *args, **kwargs)
        if spec is not None:
            # The foremost finder comes last, so that its loader is the outermost.
            for finder in reversed(_installed()):
                finder.instrument_spec(name, spec)
        return spec

    # So pickle finds this function by its name; else cloudpickle would send its code, by value.
    spec_from_file_location.__module__ = _UTIL
    util.spec_from_file_location = spec_from_file_location


def _is_ours(function: Any) -> bool:
    """Whether a function is defined in this module."""
    return getattr(function, "__globals__", None) is globals()


def _installed() -> list[Finder]:
    """Return the finders of this copy of patchkit, the foremost first, each once."""
    finders = [finder for finder in list(sys.meta_path) if isinstance(finder, Finder)]
    return list(dict.fromkeys(finders))
