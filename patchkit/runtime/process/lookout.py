"""Checks again and again, while a process runs, whether its patches still act and are called.

The `Verifier` is a thread. It ends before a fork, as in the child nobody would release the locks
that it holds, and starts again after it; it also ends before the interpreter does. A look may
import a body, and a fork waits for the end of that. If that import itself waits for the thread that
forks, the child forgets the import and begins it again.
"""

import atexit
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from patchkit.core.rows.declaration import AFTER
from patchkit.errors import PatchkitError
from patchkit.runtime.imports.finder import home, other_sessions
from patchkit.runtime.imports.half_imported import forget_imports
from patchkit.runtime.process.effects import Effects
from patchkit.runtime.process.eligibility import EligibilityTable
from patchkit.runtime.process.journal import process_facts
from patchkit.runtime.process.patch_state import APPLIED, ARMED, PatchStates
from patchkit.runtime.process.schedule import Schedule, Turns

if TYPE_CHECKING:
    from patchkit.runtime.process.unpatched import UnpatchedTargets

_PATIENCE = 1.0
"""Seconds for which an exit waits for the end of a look."""

_PATIENCE_TO_FORK = 60.0
"""Seconds for which a fork waits for the end of a look, which may be importing torch."""

_GLANCE = 2.0
"""Seconds between two glances, which only look at what was called and imported."""


class Lookout:
    """Checks the patches of a process from a thread, and writes what it finds to the journal.

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
        self._unmet: dict[str, str] | None = None  # the reasons that were last written
        self.effects = Effects(schedule, states)
        self.unpatched: UnpatchedTargets | None = None  # made when it is needed
        self.last_words: list[Callable[[], None]] = []
        """Called when the process ends, to write further entries."""
        # 0 seconds: `take_charge` sets the time between looks; before that, no thread starts.
        self.verifier = Verifier(self.look, 0, turns.is_waiting, self.glance)

    def take_charge(self) -> None:
        """Let the thread start, failures set the exit code, and an exit write last entries."""
        self._states.is_in_charge = True
        self.verifier.seconds = self._states.settings.verify
        atexit.register(self.write_last_entries)

    def stand_down(self) -> None:
        """Stop the thread and the observation of calls, and leave the exit code alone."""
        self._states.is_in_charge = False
        atexit.unregister(self.write_last_entries)
        self.verifier.stop()
        self.effects.close()

    def begin(self) -> None:
        """Start the thread if this process has patches."""
        if self.verifier.may_start and self._table.open_patches():
            self.verifier.start()

    def note_import(self, module: str) -> None:
        """Observe calls of targets that patches for other roles change, for `patchkit status`.

        Args:
            module: The name of the module, which has been imported.
        """
        roles = self._states.roles
        if not roles or self._states.journal.directory is None:
            return
        groups = self._schedule.due(module, AFTER)
        if all(not roles.isdisjoint(group.patch.row.roles) for group in groups):
            return  # none of them is for other roles
        if self.unpatched is None:
            from patchkit.runtime.process.unpatched import UnpatchedTargets  # noqa: PLC0415 - few need it

            observer = self.effects.observer
            self.unpatched = UnpatchedTargets(self._schedule, self._states, observer)
        self.unpatched.watch(module)

    def note_role(self) -> None:
        """Start the thread and observe, if upstream has been imported; write what is unmet now."""
        packages = {name.partition(".")[0] for name in self._schedule.targets}
        if not packages.isdisjoint(sys.modules):
            self.begin()
            self._note_imports()
        self.write_unmet(may_be_first=False)

    def _note_imports(self) -> None:
        for module in self._schedule.targets:
            if module in sys.modules:
                self.note_import(module)

    def note_applied(self, has_changed: bool) -> None:
        """Start the thread, as patches are applied; if any is new, `has_changed`, observe calls."""
        if has_changed and self._states.journal.directory is not None:
            self.effects.observe()  # for the journal's file alone
        self.begin()
        if self._unmet is None:  # it was not written yet
            self.write_unmet()

    def look_again(self) -> None:
        """Fail overwritten patches, apply what was missed; ApplyError if a required one fails."""
        self._look_at_patches()
        self.write_unmet()

    def look(self) -> None:
        """Look again from the thread: a failure is reported, and raised by the next `enter`."""
        try:
            try:
                self.look_again()
            finally:
                self.glance()
        except PatchkitError:
            pass  # it has been reported
        except BaseException as error:  # noqa: BLE001 - no caller would handle it
            self._states.say("warning", f"cannot look at what is applied: {error!r}")
        self._states.journal.verified()

    def glance(self, *, is_last: bool = False) -> None:
        """Write what was called and imported since the last glance; `is_last`: the process ends."""
        self.effects.look(is_last=is_last)
        self._note_imports()
        if self.unpatched is not None:
            self.unpatched.look()

    def after_fork(self) -> None:
        """Observe calls anew in a forked child."""
        self.effects.after_fork()
        if self.unpatched is not None:
            self.unpatched.after_fork()

    def exit_code(self, code: Any) -> Any:
        """Write the last entries of a child process, and choose its exit code.

        Args:
            code: What the child would exit with.

        Returns:
            `EXIT_CODE` where a required patch has failed, otherwise `code`.
        """
        self.write_last_entries()
        return self._states.failure_exit.code(code)

    def leave_exit_code(self) -> None:
        """Leave the exit code alone: the code that ends the process has reported the failure."""
        self._states.is_in_charge = False

    def write_armed(self, **facts: Any) -> None:
        """Write the first entry: the patches with their roles, and facts of this process.

        Args:
            **facts: Further fields of the entry.
        """
        states = self._states.patches.items()
        roles = {name: sorted(state.row.roles) for name, state in states}
        packs = {name: state.row.pack for name, state in states}
        facts |= process_facts()
        self._states.journal.write(
            "armed", patches=list(roles), roles=roles, packs=packs, **facts
        )

    def report_other_copies(self) -> None:
        """Report other copies of patchkit that patch this process too."""
        for other in other_sessions():
            self._states.journal.write("other-copy", copy=home(other))
            self._states.say(
                "warning",
                f"another copy of patchkit patches this process too: {home(other)}. Wraps of both "
                "act; a Replace of what the other one has changed is refused",
            )

    def write_inherited(self) -> None:
        """Write what a forked child has from its parent into the child's own journal."""
        self.write_armed(forked=True)
        for role in sorted(self._states.roles):
            self._states.journal.write("role", role=str(role), inherited=True)
        for state in self._states.patches.values():
            if state.status == ARMED and not state.reason:
                continue
            # An entry for each applied group, with the layers of now; one for a patch without any.
            facts_of_groups = [
                group.facts | {"layers": group.made.layers()}
                for group in state.groups
                if state.status == APPLIED and group.applied_to and group.facts
            ]
            for facts in facts_of_groups or [{}]:
                self._states.report(state, inherited=True, **facts)
        if self._unmet:
            self._states.journal.write("unmet", reasons=self._unmet)

    def write_unmet(self, *, may_be_first: bool = True, versions: bool = True) -> None:
        """Write the patches that wait though they do not apply here, such as for another version.

        Args:
            may_be_first: Whether to do so also if it was never done: the first time takes long.
            versions: Whether to read versions, which costs time in the beginning.
        """
        if self._unmet is None and not may_be_first:
            return
        unmet = self._table.unmet_here(versions=versions)
        if unmet != (self._unmet or {}):
            self._states.journal.write("unmet", reasons=unmet)
        self._unmet = unmet

    def write_last_entries(self) -> None:
        """Write the last entries: what was called, and which patches do not apply here.

        Versions are read only if the modules for that are loaded; a missing package shows at once.
        """
        if self._states.journal.directory is None:
            return
        with suppress(Exception):  # the process ends as it would without patchkit
            self.glance(is_last=True)
            for write in self.last_words:
                write()
            tops = {name.partition(".")[0] for name in self._schedule.targets}
            needed = {"importlib.metadata", "packaging.requirements"}
            is_cheap = needed <= sys.modules.keys()
            if is_cheap or any(PathFinder.find_spec(top) is None for top in tops):
                self.write_unmet(versions=is_cheap)


class Verifier:
    """A thread that calls `look` from time to time, and `glance` more often.

    Args:
        look: Checks everything.
        seconds: The time between two of its calls; 0 for no thread at all.
        waits_for_me: Whether the thread of an identifier waits for the calling one, or is that.
        glance: Checks what costs little; it is called at least every two seconds.
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
        self._reset()

    def _reset(self) -> None:
        """Set the state of a process that has no such thread."""
        self._end = threading.Event()
        # Reentrant: a signal handler or finalizer that runs within may import a target.
        self._guard = threading.RLock()
        self._thread: threading.Thread | None = None
        self._ending: list[threading.Thread] = []
        self._forking = 0  # how many threads fork now

    @property
    def may_start(self) -> bool:
        """Whether the thread is to run, and does not run yet.

        While the interpreter ends, no thread may be started: before Python 3.12 it never begins,
        and `Thread.start` waits for that.
        """
        return self.seconds != 0 and self._thread is None and not sys.is_finalizing()

    def start(self) -> None:
        """Start the thread unless it runs; the first look comes after `seconds`."""
        if not self.may_start:
            return
        with self._guard:
            self._wanted = True  # if a fork goes on now, `after_fork` starts it
            thread = threading.Thread(
                target=self._run,
                args=(self._end, self.seconds),
                name="patchkit-verify",
                daemon=True,
            )
            # Asked again: `_guard` is reentrant, and a signal handler may have started it.
            if self.may_start and not self._forking:
                self._thread = thread
                try:
                    thread.start()
                except RuntimeError:  # the system allows no more threads
                    self._thread = None
                    return
                atexit.unregister(self.stop)  # of an earlier start
                atexit.register(self.stop)

    def stop(self) -> None:
        """End the thread for good."""
        self.seconds = 0
        self._halt(_PATIENCE)

    def before_fork(self) -> None:
        """End the thread until no thread forks any more."""
        with self._guard:
            self._forking += 1
        self._halt(_PATIENCE_TO_FORK)

    def after_fork(self, *, in_child: bool) -> None:
        """Start the thread again, in the parent and in the child.

        Args:
            in_child: Whether this is the child, which has no such thread, and needs a new lock.
        """
        if in_child:  # a thread that had not ended may have been importing something
            forget_imports({thread.ident for thread in self._ending})
            self._reset()
        else:
            with self._guard:  # 0: the session may have been made during the fork
                self._forking = max(0, self._forking - 1)
        if self._wanted:
            self.start()

    def _halt(self, patience: float) -> None:
        """Have the thread end, and wait for that, and for threads that have not ended before."""
        with self._guard:
            end = self._end
            self._end = threading.Event()
            if self._thread is not None:
                self._ending.append(self._thread)
            self._thread = None
        end.set()
        for thread in list(self._ending):
            is_own = thread is threading.current_thread()
            if not is_own and self._ends(thread, patience):
                with suppress(ValueError):  # another thread that forks has removed it
                    self._ending.remove(thread)

    def _ends(self, thread: threading.Thread, patience: float) -> bool:
        """Wait for the end of a thread; False if it takes too long, or would be a deadlock."""
        end = time.monotonic() + patience
        while time.monotonic() < end and not self._waits_for_me(thread.ident or 0):
            thread.join(0.05)
            if not thread.is_alive():
                _await_end(thread.native_id)
                return True
        return False

    def _run(self, end: threading.Event, seconds: float) -> None:
        """Glance, and look every so many seconds, until `end` is set."""
        due = time.monotonic() + seconds
        while not end.wait(min(seconds, _GLANCE)):
            with suppress(Exception):  # the next look reports it
                self._glance()
            if time.monotonic() >= due:
                self._look()
                due = time.monotonic() + seconds


def _await_end(thread: int | None) -> None:
    """Wait until the system has removed a thread: Python warns of a fork if there are several."""
    for _ in range(100):
        if not os.path.exists(f"/proc/self/task/{thread}"):  # noqa: PTH110 - in every fork
            return
        time.sleep(0.0001)
