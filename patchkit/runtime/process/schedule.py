"""What is due around which import, and what it waits for: a turn, or the end of an import.

No lock is held meanwhile. A thread that waits for another could wait for ever: that one may need a
module which this one is importing. So nobody waits for a thread that waits for him.
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

TurnTaker = ChangeGroup | PatchState  # what a thread has its turn at

PATIENCE = 60.0
"""Seconds to wait for another thread's turn to end."""

_SECONDS_BETWEEN_CHECKS = 0.05
"""How often who waits checks what the other thread waits for."""


class Schedule:
    """What is due around the import of each module; rows may come and go.

    Args:
        rows: the rows in the order in which they apply.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.patches: dict[str, PatchState] = {}
        self._groups: dict[tuple[str, str], list[ChangeGroup]] = {}
        self.by_body: dict[str, list[ChangeGroup]] = {}
        """Change groups by the full name of their body."""
        self._next_rank = 0
        for row in rows:
            self.add(row)

    def add(self, row: Row) -> None:
        """Take in a row, to apply after those that are here.

        Args:
            row: the row; no patch of its name is here.
        """
        patch = PatchState(row, row.name, row.body)
        due: dict[tuple[str, str], list[Placed]] = {}
        for index, change in enumerate(row.patch.changes):
            due.setdefault((change.place.module, change.moment), []).append(
                (index, change)
            )
        for (module, moment), changes in due.items():
            group = ChangeGroup(patch, module, moment, tuple(changes), self._next_rank)
            patch.groups.append(group)
            self._groups.setdefault((module, moment), []).append(group)
        self._next_rank += 1
        if row.patch.body is not None:
            self.by_body.setdefault(patch.body, []).extend(patch.groups)
        self.patches[patch.name] = patch

    def remove(self, name: str) -> None:
        """Leave a row out again.

        Args:
            name: name of its patch.
        """
        patch = self.patches.pop(name)
        for groups in (*self._groups.values(), *self.by_body.values()):
            groups[:] = [group for group in groups if group.patch is not patch]

    @property
    def modules(self) -> set[str]:
        """Every module whose import matters: targets, and bodies that others may import."""
        return self.targets | set(self.by_body)

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
            In the order in which they apply, first those that were to come before and were missed.
        """
        missed = [group for group in self.due(module, BEFORE) if not group.applied_to]
        return [*missed, *self.due(module, SERVING), *self.due(module, AFTER)]

    def due_of_body(self, module: str) -> list[ChangeGroup]:
        """List what is due once a body has been imported by another than who applies it.

        Args:
            module: full name of the body.

        Returns:
            Its change groups in the order in which they apply, but those that this thread applies.
        """
        me = get_ident()
        return [group for group in self.by_body.get(module, ()) if group.thread != me]

    def is_made_of(self, module: str) -> bool:
        """Tell whether something is to be taken back before a module executes once more.

        Args:
            module: name of the module.

        Returns:
            Whether its last execution called an AfterImport, or changes were made from this body.
        """
        for group in self.due(module, AFTER):
            if group.made.calls:
                return True
        return any(group.made.sites for group in self.by_body.get(module, ()))

    def serves_beneath(self, module: str) -> bool:
        """Tell whether a module is served whose name makes this one a package.

        Args:
            module: name of this module.

        Returns:
            Whether a change group serves a module beneath it.
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
    """Which thread waits for whose turn."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the other threads, which are gone."""
        self._free = threading.Condition()  # reentrant, for finalizers that run within
        self._awaited: dict[int, TurnTaker] = {}

    def take(self, target: TurnTaker, is_left: Callable[[], bool]) -> bool:
        """Wait for a turn and take it, unless `is_left` says to leave it to whose turn it is.

        Args:
            target: what the turn is at.
            is_left: asked while another thread has its turn; that one may wait for this one.

        Returns:
            Whether the turn was taken; False where it is this thread's already, or left.

        Raises:
            TimeoutError: the other thread's turn does not end.
        """
        with self._free:
            if not self._wait((target,), PATIENCE, is_left):
                raise TimeoutError
            if target.thread is not None:
                return False
            target.thread = get_ident()
        return True

    def leave(self, target: TurnTaker) -> None:
        """End this thread's turn.

        Args:
            target: what the turn is at.
        """
        with self._free:
            target.thread = None
            self._free.notify_all()

    @contextlib.contextmanager
    def turn(self, target: TurnTaker, is_left: Callable[[], bool]) -> Iterator[bool]:
        """Take a turn for the time of a block.

        Args:
            target: as of `take`.
            is_left: as of `take`.

        Yields:
            Whether the turn was taken; if not, there is nothing to end.

        Raises:
            TimeoutError: as `take` does.
        """
        is_taken = self.take(target, is_left)
        try:
            yield is_taken
        finally:
            if is_taken:
                self.leave(target)

    def tell(self) -> None:
        """Have those who wait check again whether they leave it."""
        with self._free:
            self._free.notify_all()

    @contextlib.contextmanager
    def within(self, *targets: TurnTaker, patience: float = PATIENCE) -> Iterator[bool]:
        """Take turns for the time of a block, all at once.

        A turn of this thread, or of one that waits for it, goes back to that one afterwards.

        Args:
            *targets: what the turns are at.
            patience: seconds to wait for other threads.

        Yields:
            False where the patience ended before their turns; the block has the turns all the same.
        """
        me = get_ident()
        with self._free:
            is_patient = self._wait(targets, patience, lambda: False)
            former = [target.thread for target in targets]
            for target in targets:
                target.thread = me
        try:
            yield is_patient
        finally:
            with self._free:
                for target, thread in zip(targets, former, strict=True):
                    target.thread = thread
                self._free.notify_all()

    def _wait(
        self, targets: Sequence[TurnTaker], patience: float, is_left: Callable[[], bool]
    ) -> bool:
        """Wait until no turn is another thread's, or `is_left`; False once the patience is over."""
        me = get_ident()
        end = time.monotonic() + patience
        while True:
            busy = self._first_busy(targets)
            if busy is None or is_left():
                return True
            if time.monotonic() > end:
                return False
            self._awaited[me] = busy
            try:
                self._free.wait(_SECONDS_BETWEEN_CHECKS)
            finally:
                self._awaited.pop(me, None)  # who ran within may have waited, too

    def _first_busy(self, targets: Sequence[TurnTaker]) -> TurnTaker | None:
        """Find the first turn of a thread that does not wait for this one."""
        for target in targets:
            if target.thread and not self.is_waiting(target.thread):
                return target
        return None

    def is_waiting(self, thread: int | None) -> bool:
        """Tell whether a thread is this one, or waits for it by whatever detour.

        Args:
            thread: identity of the thread; None for none.

        Returns:
            Whether nobody may wait for it.
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
    """How often each module has executed, targets and bodies, and which are whole.

    Args:
        finder: watches their imports.
    """

    def __init__(self, finder: Finder) -> None:
        self.is_whole = finder.is_whole
        # No lock: it counts one by one in all threads.
        self._numbers = itertools.count(1)
        self._last: dict[str, int] = {}
        self._postponed: dict[str, list[ChangeGroup]] = {}

    def note(self, module: str) -> None:
        """Note that a module executes.

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
            The number of the last execution, and the identity of the module that it made.
        """
        last = self._last.get(group.module, 0)
        return last, id(module) if group.moment == AFTER else 0

    def is_current(self, group: ChangeGroup) -> bool:
        """Tell whether a group is applied to its module as it is now, and not about to be anew.

        Args:
            group: the group.

        Returns:
            Whether the last execution is the one that it was applied to.
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
            Whether it waits; False where that end has come.
        """
        # First: it may come any time.
        self._postponed.setdefault(needed, []).append(group)
        return not self.is_whole(needed)

    def is_awaited(self, module: str) -> bool:
        """Tell whether groups wait for the end of a module's import.

        Args:
            module: name of the module.

        Returns:
            Whether `postponed` would return any.
        """
        return module in self._postponed

    def postponed(self, module: str) -> list[ChangeGroup]:
        """Take the groups that have waited for the end of a module's import.

        Args:
            module: name of the module.

        Returns:
            The groups; they wait no more.
        """
        return self._postponed.pop(module, [])

    def awaits(self, group: ChangeGroup) -> bool:
        """Tell whether a group is applied at the end of an import, by the thread that imports.

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
