"""
Turns at what only one thread may do at a time, with no lock held meanwhile.

A thread that waits for another could wait for ever: that one may need a module which this one is
importing. So nobody waits for a thread that waits for him.
"""

from __future__ import annotations

import contextlib
import threading
import time
from threading import get_ident
from typing import TYPE_CHECKING, Protocol

from patchkit.imports.half_imported import importer_awaited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PATIENCE = 60.0
"""Seconds to wait for another thread's turn to end."""

_LOOK = 0.05
"""Seconds between looks at what the other thread waits for."""


class Taken(Protocol):
    """
    What turns are taken at.

    Args:
        thread: ident of the thread whose turn it is.

    """

    thread: int | None


class Turns:
    """Who waits for whose turn."""

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Forget the other threads, which are gone."""
        self._free = threading.Condition(threading.Lock())
        self._awaited: dict[int, Taken] = {}

    def take(self, thing: Taken, is_left: Callable[[], bool]) -> bool:
        """
        Wait for a turn and take it.

        Args:
            thing: what it is at.
            is_left: whether to leave it to the thread whose turn it is, and not wait.

        Returns:
            False where it is this thread's already, or left to the other one, which may be
            waiting for this one.

        Raises:
            TimeoutError: the other thread's turn does not end.

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
        """
        Take turns for the time of a block, all at once.

        Where it is this thread's turn already, or that of a thread that waits for this one, the
        turn goes back to it afterwards.

        Returns:
            Whether they were to be had; False once the patience is over.

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
        while (busy := next(filter(self._is_busy, things), None)) is not None:
            if is_left():
                break
            if time.monotonic() > end:
                return False
            self._awaited[me] = busy
            try:
                self._free.wait(_LOOK)
            finally:
                del self._awaited[me]
        return True

    def _is_busy(self, thing: Taken) -> bool:
        """Whether it is another thread's turn that does not wait, by whatever detour, for me."""
        return thing.thread is not None and not self.is_waiting(thing.thread)

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
