"""Observes in this process where the targets of `patchkit probe` are imported and called.

The journal gets an entry for each import, for the first call of each target, and for the reason why
calls cannot be counted. The counts are in a file of `Counters` beside it. From Python 3.12 on, the
interpreter reports calls to a `Monitor`. Before, and for what is no Python function, the target is
wrapped by a function that counts.
"""

import os
import sys
import weakref
from collections.abc import Callable, Collection
from functools import cached_property, partial
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from patchkit.core.record import Record, field, grouped
from patchkit.core.rows.declaration import Wrap
from patchkit.core.rows.target import Target
from patchkit.errors import SettingsError, TargetError
from patchkit.runtime.changes.context import Context, Prepared
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.probing.callables import Callee, CallTest, find_callee
from patchkit.runtime.probing.counters import Counters
from patchkit.runtime.probing.monitor import Monitor
from patchkit.runtime.process.journal import Journal
from patchkit.runtime.process.roles import module_run_as_main
from patchkit.runtime.process.session import Session

_TORCH_COMPILER = "torch.compiler"


class _Probed(Record, frozen=False, eq=False):
    """A target of the probe, and what was seen of it in this process.

    Args:
        target: The target.
        count: Counts one call.
        is_imported: Whether its module has been imported.
        reason: Why its calls cannot be counted; '' if they are.
        is_called: Whether it was called.
        is_traced: Whether torch.compile has traced it.
        codes: Code that shows that the target was traced.
        wrapped: The wrapper around it, if there is one.
        place: The `id` of the object whose attribute is called; 0 before calls are counted.
        function: A weak reference to what the monitor watches; None if it watches nothing.
    """

    target: Target
    count: Callable[[], object]
    is_imported: bool = False
    reason: str = ""
    is_called: bool = False
    is_traced: bool = False
    codes: list[CodeType] = field(default_factory=list)
    wrapped: Prepared | None = None
    place: int = 0
    function: "weakref.ref[FunctionType] | None" = None

    @property
    def is_wrapped(self) -> bool:
        """Whether the wrapper is still in place.

        It is not once it was taken off (the site has no layers then), or a reload of the module has
        put a new object there (the site is not intact).
        """
        if self.wrapped is None:
            return False
        return all(site.layers and site.is_intact() for site in self.wrapped.sites)


class _Tracing:
    """Knows whether torch.compile is tracing: by a function of torch, once that is imported."""

    def __init__(self) -> None:
        self.is_on: Callable[[], bool] = _never

    def imported(self, module: ModuleType, _: Sites) -> None:
        """Use torch's own function, whose call torch.compile takes for True in what it traces."""
        self.is_on = getattr(module, "is_dynamo_compiling", self.is_on)


def _never() -> bool:
    return False


class Probe:
    """The targets of the probe in this process.

    Args:
        targets: The targets, as text.
        session: The session of this process, which is not armed yet.
        path: The file of this process's journal.

    Raises:
        SettingsError: One of the targets is malformed.
    """

    def __init__(self, targets: Collection[str], session: Session, path: str) -> None:
        self._session = session
        self._journal: Journal = session.journal
        counters = Counters(_counts_beside(path), len(targets))
        self._targets = [
            _Probed(_parse(text), counters.counter(index))
            for index, text in enumerate(targets)
        ]
        self._tracing = _Tracing()

    def begin(self) -> None:
        """Watch the imports of targets, what patches put in their place, and torch.compile.

        A forked child goes on watching, and counts anew.
        """
        hooks = self._session.hooks
        by_module = grouped((probed.target.module, probed) for probed in self._targets)
        for module, probed_targets in by_module.items():
            hook = partial(self._imported, probed_targets)
            hooks.setdefault(module, []).append(hook)
        hooks.setdefault(_TORCH_COMPILER, []).append(self._tracing.imported)
        self._session.lookout.last_words.append(self._tell_at_end)
        self._session.lookout.effects.listeners.append(self._follow_patches)
        self._listen_to_compilers()
        os.register_at_fork(after_in_child=self._after_fork)

    @cached_property
    def _monitor(self) -> Monitor | None:
        """The monitor, made when a target is imported first: it takes a tool id of the interpreter.

        None if calls can be counted by wrappers only.
        """
        return Monitor.take()

    def _imported(
        self, probed_targets: Collection[_Probed], module: ModuleType, sites: Sites
    ) -> None:
        """Begin to count the calls of targets whose module has been imported, maybe again."""
        for probed in probed_targets:
            probed.reason = self._why_uncounted(
                self._count_calls, probed, module, sites
            )
            probed.is_imported = True
            self._tell_imported(probed)

    @staticmethod
    def _why_uncounted(
        begin: "Callable[[_Probed, ModuleType, Sites], None]",
        probed: _Probed,
        module: ModuleType,
        sites: Sites,
    ) -> str:
        """Begin to count calls; return why they cannot be counted, '' if they are.

        `begin` is `_count_calls` or `_follow`.
        """
        try:
            begin(probed, module, sites)
        except TargetError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001 - upstream's own; the command goes on
            return f"{type(error).__name__}: {error}"
        return ""

    def _count_calls(self, probed: _Probed, module: ModuleType, sites: Sites) -> None:
        """Begin to count the calls of what the target is now.

        Raises:
            TargetError: The target is not there, or its calls cannot be counted.
        """
        callee = find_callee(module, probed.target, sites)
        if not probed.is_wrapped:  # a wrapper that is in place goes on counting
            if self._monitor is not None and callee.function is not None:
                listener = partial(self._started, probed, callee.test)
                # The monitor may give the function a copy of its code. A patched function keeps its
                # code: by its identity, patchkit tells whether other code has changed the patch.
                copies = not callee.is_patched
                target = str(probed.target)
                self._monitor.watch(callee.function, target, listener, copies=copies)
                probed.function = weakref.ref(callee.function)
            else:
                self._wrap(probed, callee, module, sites)
        # For `_traced`; compared by identity, as equal code may be another function's.
        known_ids = set(map(id, probed.codes))
        probed.codes += [code for code in callee.codes if id(code) not in known_ids]
        probed.place = callee.place

    def _follow_patches(self) -> None:
        """Begin to count the calls of what patches have put in place of targets since last time."""
        for probed in self._targets:
            module = sys.modules.get(probed.target.module)
            if module is None or not probed.is_imported:
                continue
            reason = self._why_uncounted(
                self._follow, probed, module, self._session.sites
            )
            if probed.reason != reason:
                probed.reason = reason
                self._tell_imported(probed)

    def _follow(self, probed: _Probed, module: ModuleType, sites: Sites) -> None:
        """Count the calls of what a target is now, and no longer those of what it was before.

        A patch's function may call the original, and both would be counted for one call.
        """
        # The function that was watched until now; None if there was none, or it is deleted by now.
        former = None
        if probed.function is not None:
            former = probed.function()
        callee = find_callee(module, probed.target, sites)
        # The target may be another object's attribute now: a class that inherited the method has
        # got its own. Then the wrapper leaves the base class.
        if probed.wrapped is not None and callee.place != probed.place:
            probed.wrapped.undo()
        if self._monitor is not None and former not in (None, callee.function):
            self._monitor.leave(former, str(probed.target))
        self._count_calls(probed, module, sites)

    def _wrap(
        self, probed: _Probed, callee: Callee, module: ModuleType, sites: Sites
    ) -> None:
        """Put a wrapper that counts around a target, and repoint copies of the target to it.

        It is made as a patch's Wrap is, from a body that has nothing but the wrapper.
        """
        from patchkit.runtime.changes.objects.wrap import prepare  # noqa: PLC0415 - brings inspect
        from patchkit.runtime.copies.repointing import repoint  # noqa: PLC0415
        from patchkit.runtime.copies.scope import (  # noqa: PLC0415
            Keepers,
            modules_since,
            scope_of,
        )

        body: Any = ModuleType(__name__)
        body.count = self._counting(probed)
        change = Wrap(f"{probed.target.module}:{callee.qualname}", by="count")
        # Outermost: beneath a patch, it would miss the calls that the patch does not pass on.
        context = Context(module, body, sites, rank=(sys.maxsize, 0))
        probed.wrapped = prepared = prepare(change, context)
        prepared.apply()
        name = probed.target.module
        for site in prepared.sites:
            site.rebind |= scope_of(name, rebind=True)
        # Only patchkit's own modules keep the original: calls by packs and bodies count, too.
        keepers = Keepers(packages=("patchkit",), bodies=(), sites=sites)
        repoint(prepared.sites, modules_since(name), keepers)

    def _counting(self, probed: _Probed) -> Callable[..., Any]:
        """Return a wrapper that counts a call and makes it; torch.compile traces only the call."""
        tracing = self._tracing
        called = self._called

        def count(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
            if not tracing.is_on():
                called(probed, sys._getframe(1))  # noqa: SLF001
            return wrapped(*args, **kwargs)

        return count

    def _started(self, probed: _Probed, is_meant: CallTest, frame: FrameType) -> None:
        """Count a call that the monitor has reported, if it is one of the target."""
        if is_meant(frame):
            self._called(probed, frame.f_back)

    def _called(self, probed: _Probed, caller: FrameType | None) -> None:
        """Count a call, and write the first to the journal.

        No error is caught: it could only be one that a signal handler of the program raises here.
        """
        probed.count()
        if not probed.is_called:
            probed.is_called = True
            place = _place(caller)
            target = str(probed.target)
            self._journal.write("first-call", target=target, **place)

    # -- torch.compile ----------------------------------------------------------------------------

    def _listen_to_compilers(self) -> None:
        self._session.lookout.effects.compilers.listeners.append(self._begins_tracing)

    def _begins_tracing(self, context: object, codes: list[CodeType]) -> None:
        """Have `_traced` called when a tracing is over, as its context is deleted then."""
        weakref.finalize(context, self._traced, codes)

    def _traced(self, codes: list[CodeType]) -> None:
        """Write to the journal which targets are among the code that torch.compile has traced."""
        identities = set(map(id, codes))
        for probed in self._targets:
            is_among_them = any(id(code) in identities for code in probed.codes)
            if is_among_them and not probed.is_traced:
                probed.is_traced = True
                self._journal.write("traced", target=str(probed.target))

    # -- the journal ------------------------------------------------------------------------------

    def _tell_imported(self, probed: _Probed) -> None:
        target = str(probed.target)
        self._journal.write("probed", target=target, reason=probed.reason)

    def _tell_at_end(self) -> None:
        """As the process ends, write which targets' modules were imported without notice."""
        modules = [probed.target.module for probed in self._targets]
        helpers = {engine.helper_module for engine in self._session.engines}
        main = module_run_as_main(
            modules, helpers, "it had begun to run before patchkit was there"
        )
        main_module, why = main or ("", "")
        for probed in self._targets:
            module = probed.target.module
            if probed.is_imported:
                continue
            if module == main_module:
                self._tell_uncounted(probed, f"it runs as __main__ here: {why}")
            elif module in sys.modules:
                self._tell_uncounted(probed, "its module was imported without notice")

    def _tell_uncounted(self, probed: _Probed, reason: str) -> None:
        """Write that a target is there, and why none of its calls was counted."""
        probed.is_imported = True
        probed.reason = reason
        self._tell_imported(probed)

    def _after_fork(self) -> None:
        """Begin to count anew in a forked child, in a file of its own.

        Modules that the parent has imported are imported here, so that the child's journal says so.
        """
        path = self._journal.path
        if path is None:
            return
        counters = Counters(_counts_beside(path), len(self._targets))
        for index, probed in enumerate(self._targets):
            probed.count = counters.counter(index)
            probed.is_called = False
            probed.is_traced = False
            if probed.is_imported:
                self._tell_imported(probed)
        self._listen_to_compilers()  # `Effects` has made new `compilers` for the child


def _parse(text: str) -> Target:
    """Parse a target; SettingsError if it is malformed."""
    try:
        return Target.parse(text)
    except ValueError as error:
        expected = "expected targets such as module:qualname, one a line"
        raise SettingsError(f"PATCHKIT_PROBE: found {text!r}, {expected}") from error


def _counts_beside(path: str) -> str:
    """Name the file of the counts after that of the journal."""
    return path.removesuffix(".jsonl") + ".counts"


def _place(frame: FrameType | None) -> dict[str, Any]:
    """Return file, line and name of the caller: of the nearest frame that is not patchkit's."""
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    if frame is None:
        return {}
    code = frame.f_code
    # Python 3.10 has only the name.
    name = getattr(code, "co_qualname", code.co_name)
    return {"file": code.co_filename, "line": frame.f_lineno, "at": name}


def _is_own(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name.partition(".")[0] == "patchkit"
