"""
Looks again, every few seconds, at what a process has applied: a thread that nobody notices.

It ends before a fork, as a child of several threads may wait for a lock that nobody gives back, and
it begins anew after it; and it ends before the interpreter does.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 1.0
"""Seconds to wait for the end of a look; whoever forks or exits goes on after that."""


class Verifier:
    """
    A thread, once it is started.

    Args:
        look: what it calls.
        seconds: between two looks; 0 for none.

    """

    def __init__(self, look: Callable[[], None], seconds: float) -> None:
        self._look = look
        self._seconds = seconds
        self._thread: threading.Thread | None = None
        self._paused = False
        self._begin()

    def _begin(self) -> None:
        self._end = threading.Event()
        self._guard = threading.Lock()

    def start(self) -> None:
        """Begin to look, unless it does already; the first look is a while away."""
        if self._seconds == 0 or self._thread is not None:
            return
        with self._guard, suppress(RuntimeError):  # no thread is to be had: nobody looks
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, args=(self._end,), name="patchkit-verify", daemon=True
                )
                thread.start()
                self._thread = thread
                atexit.unregister(self.stop)
                atexit.register(self.stop)

    def stop(self) -> bool:
        """End it, and say whether it had been started."""
        with self._guard:
            thread, self._thread = self._thread, None
            self._end.set()
            self._end = threading.Event()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_PATIENCE)
            _await_end(thread.native_id)
        return thread is not None

    def before_fork(self) -> None:
        """Leave one thread less."""
        self._paused = self.stop() or self._paused  # another thread may be forking too

    def after_fork(self, *, in_child: bool) -> None:
        """Go on, in both processes."""
        if in_child:
            self._begin()
        paused, self._paused = self._paused, False
        if paused:
            self.start()

    def _run(self, end: threading.Event) -> None:
        while not end.wait(self._seconds):
            self._look()


def _await_end(thread: int | None) -> None:
    """Wait until the system has forgotten a thread: Python counts those when it forks."""
    for _ in range(100):
        if not os.path.exists(f"/proc/self/task/{thread}"):  # noqa: PTH110 - in every fork
            return
        time.sleep(0.0001)
