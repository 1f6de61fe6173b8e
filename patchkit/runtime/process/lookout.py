"""Looks again, all the life of a process, at what is applied and at what was never for here.

The `Verifier` is a thread that ends before a fork, as a child of several threads may wait for a
lock that nobody gives back, and begins anew after it; and it ends before the interpreter does. A
look may import a body, and a fork waits for that. Where that cannot be, as it waits for the thread
that forks, the child imports anew what nobody goes on to import there.
"""

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import AFTER
from patchkit.errors import PatchkitError
from patchkit.runtime.imports.finder import home, others
from patchkit.runtime.imports.half_imported import forget_imports
from patchkit.runtime.process.effects import Effects
from patchkit.runtime.process.eligibility import EligibilityTable
from patchkit.runtime.process.journal import process_facts
from patchkit.runtime.process.patch_state import APPLIED, ARMED, PatchStates, layers_of
from patchkit.runtime.process.schedule import Schedule, Turns

if TYPE_CHECKING:
    from patchkit.runtime.process.unpatched import UnpatchedTargets

_PATIENCE = 1.0
"""Seconds to wait for the end of a look; whoever exits goes on after that."""

_GLANCE = 2.0
"""Seconds between looks at what was called since; nothing else is looked at as often."""

_PATIENCE_TO_FORK = 60.0
"""The same for whoever forks: a look may be importing torch."""


class Lookout:
    """Begins to look once there is something to be seen, where the process is the session's.

    Args:
        schedule: all change groups of this process.
        states: the statuses of patches.
        table: says which patches are for this process.
        turns: say which thread waits for which.
        look_at_patches: fails what is overwritten or does not work, and applies what was missed.
    """

    def __init__(
        self,
        schedule: Schedule,
        states: PatchStates,
        table: EligibilityTable,
        turns: Turns,
        look_at_patches: Callable[[], None],
    ) -> None:
        self._schedule = schedule
        self._states = states
        self._table = table
        self._look_at_patches = look_at_patches
        self._unmet: dict[str, str] | None = None
        self.effects = Effects(schedule, states)
        self.unpatched: UnpatchedTargets | None = None
        self.last_words: list[Callable[[], None]] = []
        """What else writes to the journal when the process ends."""
        self.verifier = Verifier(self.look, 0, turns.is_waiting, self.glance)

    def take_charge(self) -> None:
        """See to the process: look again at what is applied, and to the exit code."""
        self._states.is_in_charge = True
        self.verifier.seconds = self._states.settings.verify
        atexit.register(self.tell_at_end)

    def stand_down(self) -> None:
        """Look no more."""
        self._states.is_in_charge = False
        atexit.unregister(self.tell_at_end)
        self.verifier.stop()
        self.effects.close()

    def begin(self) -> None:
        """Begin to look, if there is anything to look at."""
        if self.verifier.may_start and self._table.open_patches():
            self.verifier.start()

    def note_import(self, module: str) -> None:
        """Observe what patches for other roles would change in a module.

        Args:
            module: The name of the module, which has been imported.
        """
        roles = self._states.roles
        if not roles or self._states.journal.directory is None:
            return
        groups = self._schedule.due(module, AFTER)
        if all(not roles.isdisjoint(group.patch.row.roles) for group in groups):
            return
        if self.unpatched is None:
            from patchkit.runtime.process.unpatched import UnpatchedTargets  # noqa: PLC0415 - few need it

            observer = self.effects.observer
            self.unpatched = UnpatchedTargets(self._schedule, self._states, observer)
        self.unpatched.watch(module)

    def note_role(self) -> None:
        """A role was entered: look at what is applied, where upstream has been imported."""
        packages = {name.partition(".")[0] for name in self._schedule.targets}
        if not packages.isdisjoint(sys.modules):
            self.begin()
            self._note_imports()
        self.tell_unmet(anew=False)

    def _note_imports(self) -> None:
        for module in self._schedule.targets:
            if module in sys.modules:
                self.note_import(module)

    def note_applied(self) -> None:
        """Patches were applied; what that needs to know of versions is known now."""
        if self._states.journal.directory is not None:
            self.effects.observe()
        self.begin()
        if self._unmet is None:
            self.tell_unmet()

    def look_again(self) -> None:
        """Fail what is overwritten, apply what was missed; ApplyError where one is required."""
        self._look_at_patches()
        self.tell_unmet()

    def look(self) -> None:
        """Look again; what is found is told, and stops whoever enters a role next."""
        try:
            try:
                self.look_again()
            finally:
                self.glance()
        except PatchkitError:
            pass  # it has been told
        except BaseException as error:  # noqa: BLE001 - others' code, called by nobody else
            self._states.say("warning", f"cannot look at what is applied: {error!r}")
        self._states.journal.verified()

    def glance(self, *, is_last: bool = False) -> None:
        """Write what was called or imported since; `is_last` says that the process ends."""
        self.effects.look(is_last=is_last)
        self._note_imports()
        if self.unpatched is not None:
            self.unpatched.look()

    def after_fork(self) -> None:
        """Begin anew to observe, in the child."""
        self.effects.after_fork()
        if self.unpatched is not None:
            self.unpatched.after_fork()

    def exit_code(self, code: Any) -> Any:
        """Write what a child has to say at its end, and choose its exit code.

        Args:
            code: What the child would exit with.

        Returns:
            That code, or `EXIT_CODE` where the process may not end well.
        """
        self.tell_at_end()
        return self._states.failure_exit.code(code)

    def end_as_told(self) -> None:
        """Leave the exit code as it is: whoever ends the process has said why."""
        self._states.is_in_charge = False

    # -- what the journal says beside the status of patches ----------------------------------------

    def tell_armed(self, **facts: Any) -> None:
        """Write which patches there are, for which roles, and what process this is.

        Args:
            **facts: What the entry says beside that.
        """
        states = self._states.patches.items()
        roles = {name: sorted(state.row.roles) for name, state in states}
        packs = {name: state.row.pack for name, state in states}
        facts |= process_facts()
        self._states.journal.write(
            "armed", patches=list(roles), roles=roles, packs=packs, **facts
        )

    def tell_others(self) -> None:
        """Tell of other copies of patchkit that patch this process too."""
        for other in others():
            self._states.journal.write("other-copy", copy=home(other))
            self._states.say(
                "warning",
                f"another copy of patchkit patches this process too: {home(other)}. Wraps of both "
                "act; a Replace of what the other one has changed is refused",
            )

    def tell_inherited(self) -> None:
        """Write what a forked child has from its parent into a journal of its own."""
        self.tell_armed(forked=True)
        for role in sorted(self._states.roles):
            self._states.journal.write("role", role=str(role), inherited=True)
        for state in self._states.patches.values():
            if state.status == ARMED and not state.reason:
                continue
            told = [group for group in state.groups if group.applied_to and group.facts]
            applied = told if state.status == APPLIED else ()
            # What was told of each group, as it is now; once at least, without facts.
            for facts in [
                group.facts | {"layers": layers_of(group)} for group in applied
            ] or [{}]:
                self._states.tell(state, inherited=True, **facts)
        if self._unmet:
            self._states.journal.write("unmet", reasons=self._unmet)

    def tell_kept(self, name: str, holders: Sequence[str]) -> None:
        """Tell that code of a patch goes on acting in a process that it is not for.

        Args:
            name: the name of the patch.
            holders: what holds what it has made, in words.
        """
        self._states.journal.write("kept", name=name, holders=list(holders))
        shown = ", ".join(holders)
        self._states.say(
            "warning",
            f"{name} is not for this forked process, which still runs its code through {shown}",
        )

    def tell_unmet(self, *, anew: bool = True, versions: bool = True) -> None:
        """Write which patches that wait are not for here.

        Args:
            anew: Whether to do so also if nobody has asked yet.
            versions: Whether to ask for versions, too.
        """
        if self._unmet is None and not anew:
            return
        unmet = self._table.unmet_here(versions=versions)
        if unmet != (self._unmet or {}):
            self._states.journal.write("unmet", reasons=unmet)
        self._unmet = unmet

    def tell_at_end(self) -> None:
        """Write what was called, and which patches were never for here.

        Arming has not asked for which, as that costs a start. Now versions cost nothing more, or
        what a row would change is not installed, which costs little to see, or nobody asks.
        """
        if self._states.journal.directory is None:
            return
        with suppress(Exception):  # the process ends as it would without
            self.glance(is_last=True)
            for tell in self.last_words:
                tell()
            tops = {name.partition(".")[0] for name in self._schedule.targets}
            is_cheap = {
                "importlib.metadata",
                "packaging.requirements",
            } <= sys.modules.keys()
            if is_cheap or any(PathFinder.find_spec(top) is None for top in tops):
                self.tell_unmet(versions=is_cheap)


class Verifier:
    """A thread, once it is started, that looks at what is applied from time to time.

    Args:
        look: Looks at everything.
        seconds: The time between two of its calls; 0 for no thread at all.
        waits_for_me: Says of a thread, by its identifier, whether it waits for the calling one, or
            is that.
        glance: Looks at what costs little; it is called at least every two seconds.
    """

    def __init__(
        self,
        look: Callable[[], None],
        seconds: float,
        waits_for_me: Callable[[int], bool],
        glance: Callable[[], None] = lambda: None,
    ) -> None:
        self.seconds = seconds
        self._look = look
        self._glance = glance
        self._waits_for_me = waits_for_me
        self._wanted = False
        self._begin()

    def _begin(self) -> None:
        self._end = threading.Event()
        # Reentrant: a signal handler or finalizer that runs within may import a target.
        self._guard = threading.RLock()
        self._thread: threading.Thread | None = None
        self._ending: list[threading.Thread] = []
        self._forking = 0

    @property
    def may_start(self) -> bool:
        """Whether it is to look at all, and does not do so yet.

        Before Python 3.12, a thread that is started while the interpreter ends never begins, and
        who starts it waits for that.
        """
        return self.seconds != 0 and self._thread is None and not sys.is_finalizing()

    def start(self) -> None:
        """Begin to look, unless it does already; the first look is a while away."""
        if not self.may_start:
            return
        with self._guard:
            self._wanted = True
            thread = threading.Thread(
                target=self._run,
                args=(self._end, self.seconds),
                name="patchkit-verify",
                daemon=True,
            )
            # Else the last fork starts it, or somebody has within.
            if self.may_start and not self._forking:
                self._thread = thread
                try:
                    thread.start()
                except RuntimeError:  # none is to be had: nobody looks
                    self._thread = None
                    return
                atexit.unregister(self.stop)
                atexit.register(self.stop)

    def stop(self) -> None:
        """End it; it begins no more."""
        self.seconds = 0
        self._halt(_PATIENCE)

    def before_fork(self) -> None:
        """Leave one thread less, until no thread forks any more."""
        with self._guard:
            self._forking += 1
        self._halt(_PATIENCE_TO_FORK)

    def after_fork(self, *, in_child: bool) -> None:
        """Go on, in both processes.

        Args:
            in_child: Whether this is the child, which has no thread, and a lock of its own.
        """
        if in_child:
            forget_imports({thread.ident for thread in self._ending})
            self._begin()
        else:
            with self._guard:  # the session may be younger than the fork
                self._forking = max(0, self._forking - 1)
        if self._wanted:
            self.start()

    def _halt(self, patience: float) -> None:
        with self._guard:
            end = self._end
            self._end = threading.Event()
            if self._thread is not None:
                self._ending.append(self._thread)
            self._thread = None
        end.set()
        for thread in list(self._ending):
            if thread is not threading.current_thread() and self._ends(
                thread, patience
            ):
                with suppress(ValueError):  # another thread that forks has seen it too
                    self._ending.remove(thread)

    def _ends(self, thread: threading.Thread, patience: float) -> bool:
        end = time.monotonic() + patience
        while time.monotonic() < end and not self._waits_for_me(thread.ident or 0):
            thread.join(0.05)
            if not thread.is_alive():
                _await_end(thread.native_id)
                return True
        return False

    def _run(self, end: threading.Event, seconds: float) -> None:
        due = time.monotonic() + seconds
        while not end.wait(min(seconds, _GLANCE)):
            with suppress(Exception):  # it is told when everything is looked at
                self._glance()
            if time.monotonic() >= due:
                self._look()
                due = time.monotonic() + seconds


def _await_end(thread: int | None) -> None:
    """Wait until the system has forgotten a thread: Python counts those when it forks."""
    for _ in range(100):
        if not os.path.exists(f"/proc/self/task/{thread}"):  # noqa: PTH110 - in every fork
            return
        time.sleep(0.0001)
