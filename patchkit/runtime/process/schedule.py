"""Schedules change groups around imports, and lets one thread at a time work on each.

No lock is held while a thread works on a group, as that imports modules: two threads could each
wait for a module that the other one is importing. So no thread waits for one that waits for it.
"""

import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import get_ident
from types import ModuleType

from patchkit.core.rows.declaration import AFTER, BEFORE, SERVING, Row
from patchkit.runtime.imports.finder import Finder
from patchkit.runtime.imports.half_imported import importer_awaited, is_half_imported
from patchkit.runtime.process.patch_state import ChangeGroup, PatchState, Placed

Exclusive = ChangeGroup | PatchState  # what one thread at a time works on

PATIENCE = 60.0
"""Seconds to wait for another thread's turn to end."""

_SECONDS_BETWEEN_CHECKS = 0.05
"""How often a waiting thread checks what the other thread waits for."""


class Schedule:
    """The change groups that each module's import makes due; rows can be added and removed.

    Args:
        rows: the rows in the order in which they apply.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.patches: dict[str, PatchState] = {}
        self._groups: dict[tuple[str, str], list[ChangeGroup]] = {}
        self.by_body: dict[str, list[ChangeGroup]] = {}  # by the body's full name
        self._setting_in: dict[str, list[ChangeGroup]] = {}  # by the modules of `sets`
        self._next_rank = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Add a row, which applies after all rows added before.

        Args:
            row: the row; its name is not in the schedule yet.
        """
        patch = PatchState(row, row.name, row.body)
        due: dict[tuple[str, str], list[Placed]] = {}
        for index, change in enumerate(row.patch.changes):
            key = (change.place.module, change.moment)
            due.setdefault(key, []).append((index, change))
        for (module, moment), changes in due.items():
            group = ChangeGroup(patch, module, moment, tuple(changes), self._next_rank)
            patch.groups.append(group)
            parts = [part for _, change in changes for part in change.parts]
            for other in {part.place.module for part in parts} - {module}:
                self._setting_in.setdefault(other, []).append(group)
            self._groups.setdefault((module, moment), []).append(group)
        self._next_rank += 1
        if row.patch.body is not None:
            self.by_body.setdefault(patch.body, []).extend(patch.groups)
        self.patches[patch.name] = patch

    def remove(self, name: str) -> None:
        """Remove a row.

        Args:
            name: name of its patch.
        """
        patch = self.patches.pop(name)
        for by_key in (self._groups, self.by_body, self._setting_in):
            for groups in by_key.values():
                groups[:] = [group for group in groups if group.patch is not patch]

    @property
    def modules(self) -> set[str]:
        """Every module whose import matters: targets, and bodies that others may import."""
        return self.targets.union(self.by_body, self._setting_in)

    @property
    def targets(self) -> set[str]:
        """Every module that a patch changes."""
        return {module for module, _ in list(self._groups)}

    def due(self, module: str, moment: str) -> list[ChangeGroup]:
        """List what is due around a module's import.

        Args:
            module: name of the module.
            moment: before, serving or after its execution.

        Returns:
            The change groups in the order in which they apply.
        """
        return list(self._groups.get((module, moment), ()))

    def due_at_end(self, module: str) -> list[ChangeGroup]:
        """List what is due once a module has executed.

        Args:
            module: name of the module.

        Returns:
            First what was due before the execution and was missed; in the order of application.
        """
        missed = [group for group in self.due(module, BEFORE) if not group.applied_to]
        serving = self.due(module, SERVING)
        after = self.due(module, AFTER)
        return [*missed, *serving, *after]

    def needing(self, module: str) -> list[ChangeGroup]:
        """Return the change groups that use a module, and are due with the import of another one.

        Args:
            module: a body, or a module in which an AfterImport sets targets.
        """
        return [*self.by_body.get(module, ()), *self._setting_in.get(module, ())]

    def due_of_body(self, module: str) -> list[ChangeGroup]:
        """List what may be applied now that a body has been imported, by whatever code.

        Args:
            module: full name of the body, or of a module in which an AfterImport sets targets.

        Returns:
            Its change groups in order, without those for which this thread has imported the body.
        """
        return [group for group in self.needing(module) if group.thread != get_ident()]

    def serves_beneath(self, module: str) -> bool:
        """Tell whether a patch provides a submodule of a module, which so has to be a package.

        Args:
            module: name of the module, such as `ray.data` where `ray.data.llm` is provided.

        Returns:
            Whether a change group provides a module below it.
        """
        for (name, moment), groups in list(self._groups.items()):
            if groups and moment == SERVING and name.startswith(f"{module}."):
                return True
        return False

    def groups(self) -> list[ChangeGroup]:
        """List all change groups.

        Returns:
            The groups in the order in which their rows apply.
        """
        groups: list[ChangeGroup] = []
        for patch in list(self.patches.values()):
            groups += patch.groups
        return groups


class Turns:
    """Lets one thread at a time work on a change group or a patch: that thread has its turn."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the other threads, which are gone."""
        self._free = threading.Condition()  # reentrant, for finalizers that run within
        self._awaited: dict[int, Exclusive] = {}  # by the thread that waits for it

    def take(self, target: Exclusive, give_up: Callable[[], bool]) -> bool:
        """Wait until no other thread has its turn at a target, then begin this thread's.

        Args:
            target: what this thread is to work on.
            give_up: asked while another thread has its turn; True ends the wait.

        Returns:
            Whether the turn begins; False if this thread has it already, or has given up.

        Raises:
            TimeoutError: the other thread's turn does not end.
        """
        with self._free:
            if not self._wait((target,), PATIENCE, give_up):
                raise TimeoutError
            if target.thread is not None:  # its own turn, or given up
                return False
            target.thread = get_ident()
        return True

    def leave(self, target: Exclusive) -> None:
        """End this thread's turn.

        Args:
            target: what this thread has worked on.
        """
        with self._free:
            target.thread = None
            self._free.notify_all()

    @contextlib.contextmanager
    def turn(self, target: Exclusive, give_up: Callable[[], bool]) -> Iterator[bool]:
        """Take a turn for the time of a block.

        Args:
            target: as for `take`.
            give_up: as for `take`.

        Yields:
            Whether the turn begins, as `take` returns it.

        Raises:
            TimeoutError: as `take` does.
        """
        is_taken = self.take(target, give_up)
        try:
            yield is_taken
        finally:
            if is_taken:
                self.leave(target)

    def wake(self) -> None:
        """Have waiting threads check again whether they give up."""
        with self._free:
            self._free.notify_all()

    @contextlib.contextmanager
    def within(self, *targets: Exclusive, patience: float = PATIENCE) -> Iterator[bool]:
        """Take the turns at several targets for the time of a block, all at once.

        Then each turn goes back to the thread that had it: this one, or one that waits for it.

        Args:
            *targets: what this thread is to work on.
            patience: seconds to wait for other threads.

        Yields:
            False if the wait took too long; the block has the turns all the same.
        """
        me = get_ident()
        with self._free:
            are_free = self._wait(targets, patience, give_up=lambda: False)
            former = [target.thread for target in targets]
            for target in targets:
                target.thread = me
        try:
            yield are_free
        finally:
            with self._free:
                for target, thread in zip(targets, former, strict=True):
                    target.thread = thread
                self._free.notify_all()

    def _wait(
        self, targets: Sequence[Exclusive], patience: float, give_up: Callable[[], bool]
    ) -> bool:
        """Wait until no other thread has a turn, or `give_up` is True; False after `patience`."""
        me = get_ident()
        end = time.monotonic() + patience
        while True:
            busy = self._first_busy(targets)
            if busy is None or give_up():
                return True
            if time.monotonic() > end:
                return False
            self._awaited[me] = busy
            try:
                self._free.wait(_SECONDS_BETWEEN_CHECKS)
            finally:
                self._awaited.pop(me, None)  # a finalizer may have popped it

    def _first_busy(self, targets: Sequence[Exclusive]) -> Exclusive | None:
        """Find the first target of another thread's turn, unless that thread waits for this one."""
        for target in targets:
            if target.thread and not self.is_waiting(target.thread):
                return target
        return None

    def is_waiting(self, thread: int | None) -> bool:
        """Tell whether a thread is this one, or waits for it, perhaps through other threads.

        Args:
            thread: identity of the thread; None for none.

        Returns:
            Whether waiting for the thread would be a deadlock.
        """
        me = get_ident()
        passed: set[int] = set()
        while thread is not None and thread not in passed:
            if thread == me:
                return True
            passed.add(thread)
            awaited = self._awaited.get(thread)
            thread = importer_awaited(thread) if awaited is None else awaited.thread
        return False


class Executions:
    """Numbers the executions of modules, and keeps the groups that wait for an import to end.

    Args:
        finder: watches the imports of targets and bodies, and tells which are whole (not partial).
    """

    def __init__(self, finder: Finder) -> None:
        self.is_whole = finder.is_whole
        # `next` needs no lock.
        self._numbers = itertools.count(1)
        self._last: dict[str, int] = {}  # by module
        self._postponed: dict[str, list[ChangeGroup]] = {}  # by the awaited module

    def note(self, module: str) -> None:
        """Note that a module begins to execute.

        Args:
            module: name of the module.
        """
        self._last[module] = next(self._numbers)

    def now(self, group: ChangeGroup, module: ModuleType | None) -> tuple[int, int]:
        """Name the execution that a group would be applied to now.

        Args:
            group: the group.
            module: its module; None before that executes.

        Returns:
            The number of the last execution; and for a group of AFTER the `id` of `module`, else 0.
        """
        number = self._last.get(group.module, 0)
        identity = id(module) if group.moment == AFTER else 0
        return number, identity

    def is_current(self, group: ChangeGroup) -> bool:
        """Tell whether a group is applied to the last execution of its module.

        Args:
            group: the group.

        Returns:
            Whether it is; False also while a thread has its turn, and may be applying it again.
        """
        if group.thread is not None or group.applied_to is None:
            return False
        return group.applied_to[0] == self._last.get(group.module, 0)

    def postpone(self, group: ChangeGroup, needed: str) -> bool:
        """Have a group wait for the end of an import.

        Args:
            group: the group.
            needed: name of the module that is being imported.

        Returns:
            Whether it waits; False if that import has ended meanwhile.
        """
        # Added before the check, as the import may end at any time.
        self._postponed.setdefault(needed, []).append(group)
        return not self.is_whole(needed)

    def is_awaited(self, module: str) -> bool:
        """Tell whether groups wait for the end of a module's import.

        Args:
            module: name of the module.

        Returns:
            Whether `postponed` would return a group.
        """
        return module in self._postponed

    def postponed(self, module: str) -> list[ChangeGroup]:
        """Take the groups that have waited for the end of a module's import.

        Args:
            module: name of the module.

        Returns:
            The groups, which are forgotten here.
        """
        return self._postponed.pop(module, [])

    def awaits(self, group: ChangeGroup) -> bool:
        """Tell whether a group waits for an import, whose end will have it applied.

        Args:
            group: the group.

        Returns:
            Whether a module for which it waits is being imported.
        """
        for name, groups in list(self._postponed.items()):
            module = sys.modules.get(name)
            if group in groups and module is not None and is_half_imported(module):
                return True
        return False
