"""What a change group waits for: its turn, which another thread has, and the end of an import.

No lock is held meanwhile. A thread that waits for another could wait for ever: that one may need a
module which this one is importing. So nobody waits for a thread that waits for him.
"""

import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from types import ModuleType

from patchkit.core.rows.declaration import AFTER
from patchkit.runtime.imports.finder import Finder
from patchkit.runtime.imports.half_imported import importer_awaited, is_half_imported
from patchkit.runtime.process.patch_state import ChangeGroup, PatchState

Taken = ChangeGroup | PatchState

PATIENCE = 60.0
"""Seconds to wait for another thread's turn to end."""

_LOOK = 0.05
"""Seconds between looks at what the other thread waits for."""


class Turns:
    """Who waits for whose turn."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the other threads, which are gone."""
        self._free = threading.Condition(threading.Lock())
        self._awaited: dict[int, Taken] = {}

    def take(self, thing: Taken, is_left: Callable[[], bool]) -> bool:
        """Wait for a turn and take it, unless `is_left` says to leave it to whose turn it is.

        Returns False where it is this thread's already, or left to another one, which may be
        waiting for this one. Raises TimeoutError where the other thread's turn does not end.
        """
        me = get_ident()
        with self._free:
            if not self._wait((thing,), PATIENCE, is_left):
                raise TimeoutError
            if thing.thread is not None:
                return False
            thing.thread = me
        return True

    def leave(self, thing: Taken) -> None:
        """End this thread's turn."""
        with self._free:
            thing.thread = None
            self._free.notify_all()

    def tell(self) -> None:
        """Have those who wait look again whether they leave it."""
        with self._free:
            self._free.notify_all()

    @contextlib.contextmanager
    def within(self, *things: Taken, patience: float = PATIENCE) -> Iterator[bool]:
        """Take turns for the time of a block, all at once; False once the patience is over.

        Where it is this thread's turn already, or that of a thread that waits for this one, the
        turn goes back to it afterwards.
        """
        me = get_ident()
        with self._free:
            has_them = self._wait(things, patience, lambda: False)
            former = [thing.thread for thing in things]
            for thing in things:
                thing.thread = me
        try:
            yield has_them
        finally:
            with self._free:
                for thing, thread in zip(things, former, strict=True):
                    thing.thread = thread
                self._free.notify_all()

    def _wait(self, things: Sequence[Taken], patience: float, is_left: Callable[[], bool]) -> bool:
        me, end = get_ident(), time.monotonic() + patience
        while busy := [one for one in things if one.thread and not self.is_waiting(one.thread)]:
            if is_left():
                break
            if time.monotonic() > end:
                return False
            self._awaited[me] = busy[0]
            try:
                self._free.wait(_LOOK)
            finally:
                del self._awaited[me]
        return True

    def is_waiting(self, thread: int | None) -> bool:
        """Whether a thread is this one, or waits for it by whatever detour."""
        me, seen = get_ident(), set[int]()
        while thread is not None and thread not in seen:
            if thread == me:
                return True
            seen.add(thread)
            awaited = self._awaited.get(thread)
            thread = importer_awaited(thread) if awaited is None else awaited.thread
        return False


class Executions:
    """How often each module has executed, targets and bodies, and which are whole."""

    def __init__(self, finder: Finder) -> None:
        self.is_whole = finder.is_whole
        self._numbers = itertools.count(1)  # no lock: it counts one by one in all threads
        self._last: dict[str, int] = {}
        self._postponed: dict[str, list[ChangeGroup]] = {}

    def note(self, module: str) -> None:
        """Note that a module executes."""
        self._last[module] = next(self._numbers)

    def now(self, group: ChangeGroup, module: ModuleType | None) -> tuple[int, int]:
        """Name the execution that a group would be applied to now."""
        last = self._last.get(group.module, 0)
        return last, id(module) if group.moment == AFTER else 0

    def is_settled(self, group: ChangeGroup) -> bool:
        """Whether a group is applied to the module as it is now, and not about to be anew."""
        if group.thread is not None or group.applied_to is None:
            return False
        return group.applied_to[0] == self._last.get(group.module, 0)

    def postpone(self, group: ChangeGroup, needed: str) -> bool:
        """Have a group wait for the end of an import; False where that has come."""
        self._postponed.setdefault(needed, []).append(group)  # first: it may come any time
        return not self.is_whole(needed)

    def postponed(self, needed: str) -> list[ChangeGroup]:
        """Return the groups that have waited for a module, once."""
        return self._postponed.pop(needed, [])

    def awaits(self, group: ChangeGroup) -> bool:
        """Whether a group is applied at the end of an import, by the thread that imports."""
        names = [name for name, groups in list(self._postponed.items()) if group in groups]
        return any(name in sys.modules and is_half_imported(sys.modules[name]) for name in names)
