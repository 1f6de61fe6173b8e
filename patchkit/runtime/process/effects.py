"""Finds out which applied changes are in effect: their code was called in this process, or traced.

From time to time a *look* reads this and writes it to the journal; a call itself costs nothing
more. Code that torch.compile inlines is never called, but torch lists the code that it traces.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from types import CodeType
from typing import TYPE_CHECKING, Any
from weakref import ref

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Add, Replace
from patchkit.runtime.process.observing import observer
from patchkit.runtime.process.patch_state import APPLIED, ChangeGroup, PatchStates
from patchkit.runtime.process.schedule import Schedule

if TYPE_CHECKING:
    from patchkit.runtime.changes.own_code import CallEvidence, SharedCode

Key = tuple[str, str]
"""The name of a patch, and one of its targets."""

TracingListener = Callable[[Any, list[CodeType]], None]
"""Called when torch.compile begins to trace: with its context, and the list of traced code."""

CALLED = "called"
NEVER_CALLED = "never called"
NOT_OBSERVABLE = "not observable"

_PATIENCE = 1.0
"""Seconds to wait for the end of another thread's look."""

_MOST = 100
"""After how many applications calls are read without a look, so that no list grows for ever."""


Evidence = Mapping[Key, "CallEvidence"]
"""The evidence for each target of the applied patches."""


class Compilers(Record, frozen=False, eq=False):
    """The code that torch.compile has traced, as hooks on torch report it.

    Args:
        tracings: The tracings since the last look, and those that go on: a weak reference to the
            context of each, and the list of code that the context fills.
        loaded: Names of the modules whose code is in artefacts that torch has loaded from a cache.
        has_loaded: Whether torch has loaded such an artefact. Edited code, which is in no file of a
            module, may be in any of them.
        is_silent: Whether torch has traced something, and does not say what in this release.
        listeners: Called with the context of each tracing that begins, and its list of code.
    """

    tracings: list[tuple[Any, list[CodeType]]] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)
    has_loaded: bool = False
    is_silent: bool = False
    listeners: list[TracingListener] = field(default_factory=list)

    def begins(self, context: Any) -> None:
        """Record that torch begins to trace.

        Args:
            context: torch's `TracingContext`, which fills a list of the code that it traces.
        """
        codes = getattr(context, "traced_code", None)
        if isinstance(codes, list):
            self.tracings.append((ref(context), codes))
            for listener in self.listeners:
                listener(context, codes)
        else:
            self.is_silent = True

    def loads(self, artefact: Any) -> None:
        """Record the modules whose code is in a cached artefact, as torch does not trace it again.

        Args:
            artefact: What torch has loaded; its `source_info` names the modules.
        """
        try:
            for source in artefact.source_info().inlined_sources:
                self.loaded.add(source.module)
            self.has_loaded = True
        except (AttributeError, TypeError):
            self.is_silent = True

    def traced(self) -> set[int]:
        """Take the code that was traced since the last look; tracings that have ended are dropped.

        Returns:
            The `id` of each code object.
        """
        tracings = list(self.tracings)  # another thread may add one meanwhile
        # Found before the lists are read: what is traced after that is for the next look.
        ongoing = [tracing for tracing in tracings if tracing[0]() is not None]
        identities: set[int] = set()
        for _, codes in tracings:
            identities.update(map(id, list(codes)))
        self.tracings[: len(tracings)] = ongoing
        return identities


class Effects:
    """Observes which applied changes are called, and writes that to the journal.

    Args:
        schedule: All change groups of this process.
        states: The patches with their journal; if it has no directory, nothing is observed.
    """

    def __init__(self, schedule: Schedule, states: PatchStates) -> None:
        self._schedule = schedule
        self._states = states
        self._journal = states.journal
        self.observer = observer()
        self.listeners: list[Callable[[], None]] = []
        """Called after each application of patches, and at each look."""
        self._begin()

    def _begin(self) -> None:
        """Set or reset all that was observed."""
        self.compilers = Compilers()

        self._guard = threading.Lock()
        # The evidence at the last look, and after each application since.
        self._observed: list[Evidence] = []
        self._called: set[Key] = set()
        self._written: dict[Key, str] = {}
        # Targets that are not observable, and none of whose code has run.
        self._silent: set[Key] = set()
        # The target modules whose import was written; None before the first look.
        self._imported: set[str] | None = None

    def observe(self) -> None:
        """Observe the code of all targets that are applied now.

        Code that was observed before stays so until a look has read whether it has run. This waits
        for no lock, as a finalizer that runs within a look may import a target.
        """
        if self._journal.directory is None:
            return
        evidence = self._evidence()
        for target_evidence in evidence.values():
            self.observer.watch(target_evidence.observed)
        self._observed.append(evidence)
        for listener in self.listeners:
            listener()
        if len(self._observed) > _MOST:
            self._observations(patience=0)

    def look(self, *, is_last: bool = False) -> None:
        """Write targets whose observation ("called", "never called") differs from the last look's.

        Args:
            is_last: Whether the process ends: then the observations of all targets are written.
        """
        if self._journal.directory is None:
            return
        self._write_imports()
        observations = self._observations(patience=_PATIENCE)
        if observations is None:
            return
        changed: dict[str, dict[str, str]] = {}
        silent: dict[str, list[str]] = {}
        for key, observation in observations.items():
            if is_last or self._written.get(key) != observation:
                patch, target = key
                changed.setdefault(patch, {})[target] = observation
                if key in self._silent:
                    silent.setdefault(patch, []).append(target)
        self._written = observations
        if changed:
            self._journal.write("in-effect", patches=changed, silent=silent)

    def _write_imports(self) -> None:
        """Write which target modules were imported since the last look, for patches of any role.

        The first look of a process with a role writes an entry even for none, to show that there
        was a look.
        """
        written = self._imported or set()
        targets = sorted(self._schedule.targets - written)
        modules = [name for name in targets if name in sys.modules]
        is_first = self._imported is None
        has_role = bool(self._states.roles)
        if not modules and not (is_first and has_role):
            return
        self._imported = written.union(modules)
        waiting: dict[str, list[str]] = {}
        for group in self._schedule.groups():
            if group.module in modules and group.applied_to is None:
                modules_of_patch = waiting.setdefault(group.patch.name, [])
                if group.module not in modules_of_patch:
                    modules_of_patch.append(group.module)
        self._journal.write("imported", modules=modules, patches=waiting)

    def after_fork(self) -> None:
        """Observe anew in a forked child: what the parent has called does not count for it."""
        self.observer.close()
        self._begin()
        self.observe()

    def close(self) -> None:
        """Observe nothing more."""
        self.observer.close()

    # -- the evidence -----------------------------------------------------------------------------

    def _observations(self, patience: float) -> dict[Key, str] | None:
        """Return for each applied target whether it was called.

        None while another thread is finding that out. Evidence from before the last change is read
        first, as its code may have run until then.
        """
        if not self._guard.acquire(timeout=patience):
            return None
        try:
            while True:
                count = len(self._observed)
                self.observe()
                if len(self._observed) == count + 1:
                    break  # else a finalizer has called `observe` meanwhile
            *former, evidence = self._observed
            traced = self.compilers.traced()
            for former_evidence in former:
                self._judge(former_evidence, traced)
                for target_evidence in former_evidence.values():
                    self.observer.forget(target_evidence.observed)
            del self._observed[: len(former)]
            self._called &= evidence.keys()  # others are not applied any more
            return self._judge(evidence, traced)
        finally:
            self._guard.release()

    def _judge(self, evidence: Evidence, traced: Collection[int]) -> dict[Key, str]:
        """Return for each target whether it was called, and remember those that were."""
        observations: dict[Key, str] = {}
        if not evidence:
            return observations
        # Code that several targets have proves no call of one of them when it runs.
        self._shared.renew(
            (target, code)
            for (_, target), target_evidence in evidence.items()
            for code in target_evidence.observed
        )
        for key, target_evidence in evidence.items():
            # By the `id` of each code, whether it has run; None if that cannot be observed.
            runs = self._runs(target_evidence.codes, traced)
            none_ran = set(runs.values()) == {False}
            if key not in self._called and self._is_called(
                target_evidence, runs, traced
            ):
                self._called.add(key)
            if key in self._called:
                observations[key] = CALLED
            elif none_ran and self._is_observable(target_evidence):
                observations[key] = NEVER_CALLED
            else:
                observations[key] = NOT_OBSERVABLE
                if none_ran:
                    self._silent.add(key)
        return observations

    def _is_called(
        self,
        target_evidence: "CallEvidence",
        runs: Mapping[int, bool | None],
        traced: Collection[int],
    ) -> bool:
        """Whether there is proof that a target was called.

        Args:
            target_evidence: What is known of the target.
            runs: By the `id` of the target's code, whether it has run; None if that is not known.
            traced: The ids of code that torch has compiled.
        """
        if target_evidence.is_called:
            return True
        if not any(runs.values()):
            return False
        # Some of the code has run, maybe for another target or function that has it, too. Only code
        # of the target's own shows a call: this one, or what lies beneath it.
        runs_beneath = self._runs(target_evidence.beneath, traced)
        return self._has_own_run(target_evidence, {**runs, **runs_beneath})

    @cached_property
    def _shared(self) -> "SharedCode":
        from patchkit.runtime.changes.own_code import SharedCode  # noqa: PLC0415 - only a process with a journal needs it

        return SharedCode()

    def _has_own_run(
        self, evidence: "CallEvidence", runs: Mapping[int, bool | None]
    ) -> bool:
        """Whether code has run that is a target's own: no other target or function has it."""
        for code in evidence.observed:
            if runs[id(code)]:
                functions = evidence.functions
                if not self._shared.is_shared(code, functions, evidence.package):
                    return True
        return False

    def _evidence(self) -> Evidence:
        """Collect the evidence for each target of the applied patches."""
        groups = [
            group for group in self._schedule.groups() if group.patch.status == APPLIED
        ]
        evidence: dict[Key, CallEvidence] = {}
        for group in groups:
            for target in tuple(group.made.targets):
                evidence[group.patch.name, target] = _evidence_of(group, target)
        return evidence

    def _runs(
        self, codes: Iterable[CodeType], traced: Collection[int]
    ) -> dict[int, bool | None]:
        """Return for the `id` of each code whether it has run; None if that cannot be observed."""
        runs: dict[int, bool | None] = {}
        for code in codes:
            identity = id(code)
            if identity in traced:
                runs[identity] = True
            else:
                runs[identity] = self.observer.has_run(code)
        return runs

    def _is_observable(self, evidence: "CallEvidence") -> bool:
        """Whether a call of a target would have run its code here, and not a compiler's."""
        compilers = self.compilers
        if compilers.is_silent or evidence.is_unseen:
            return False
        if compilers.has_loaded and evidence.is_edited:
            return False
        return evidence.homes.isdisjoint(compilers.loaded)


def _evidence_of(group: ChangeGroup, target: str) -> "CallEvidence":
    """Collect the code that runs when a target of an applied group is called.

    Args:
        group: The changes, one of which is of the target.
        target: The target, as `module:qualname`; or a module, of an AfterImport or Provide.
    """
    from patchkit.runtime.changes.own_code import (  # noqa: PLC0415 - as above
        CallEvidence,
        functions_named,
        values_at,
    )

    patch = group.patch.name
    # A call of an AfterImport puts functions of the package there that it belongs to.
    package_of_call = group.made.of_calls.get(target)
    package = package_of_call or group.patch.row.pack
    is_attribute = ":" in target
    # A target without attribute is a module: an AfterImport or Provide has run with its import.
    evidence = CallEvidence(
        package=package,
        homes={group.module, group.patch.body},
        is_called=not is_attribute,
    )
    for site_target, site in tuple(group.made.sites):
        if site_target == target:
            values, others = values_at(site, patch)
            for value in values:
                evidence.add(value, others)
    for _, change in group.changes:
        # The body's function, of which the target may have a copy, is no other one with that code.
        if isinstance(change, (Replace, Add)) and change.target == target:
            named = functions_named(change.body_name, group.patch.body, package)
            evidence.functions.update(map(id, named))
    for route in tuple(group.made.routes):
        if route.target == target and route.edited is not None:
            function, _ = route.edited
            evidence.add_function(function)
            evidence.is_edited = True
    return evidence
