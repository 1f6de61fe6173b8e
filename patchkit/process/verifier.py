"""
Looks again, every few seconds, at what a process has applied: a thread that nobody notices.

It ends before a fork, as a child of several threads may wait for a lock that nobody gives back, and
it begins anew after it; and it ends before the interpreter does. A look may apply a patch, and so
import its body: a fork waits for that. Where that cannot be, as it waits for the thread that forks,
the child imports anew what nobody goes on to import there.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from patchkit.imports.half_imported import forget_imports

if TYPE_CHECKING:
    from collections.abc import Callable

_PATIENCE = 1.0
"""Seconds to wait for the end of a look; whoever exits goes on after that."""

_PATIENCE_TO_FORK = 60.0
"""The same for whoever forks: a look may be importing torch."""


class Verifier:
    """
    A thread, once it is started.

    Args:
        look: what it calls.
        seconds: between two looks; 0 for none.
        waits_for_me: whether a thread cannot go on before the one that asks does.

    """

    def __init__(
        self, look: Callable[[], None], seconds: float, waits_for_me: Callable[[int], bool]
    ) -> None:
        self._look = look
        self._seconds = seconds
        self._waits_for_me = waits_for_me
        self._wanted = False
        self._begin()

    def _begin(self) -> None:
        self._end = threading.Event()
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ending: list[threading.Thread] = []
        self._forking = 0

    def start(self) -> None:
        """Begin to look, unless it does already; the first look is a while away."""
        if self._seconds == 0 or self._thread is not None:
            return
        with self._guard, suppress(RuntimeError):  # no thread is to be had: nobody looks
            self._wanted = True
            if self._thread is None and not self._forking:  # else the last fork starts it
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
            was_wanted, self._wanted = self._wanted, False
        self._halt(_PATIENCE)
        return was_wanted

    def before_fork(self) -> None:
        """Leave one thread less, until no thread forks any more."""
        with self._guard:
            self._forking += 1
        self._halt(_PATIENCE_TO_FORK)

    def after_fork(self, *, in_child: bool) -> None:
        """Go on, in both processes."""
        if in_child:
            forget_imports({thread.ident for thread in self._ending})
            self._begin()
        else:
            with self._guard:
                self._forking = max(
                    0, self._forking - 1
                )  # the session may be younger than the fork
        if self._wanted:
            self.start()

    def _halt(self, patience: float) -> None:
        with self._guard:
            if self._thread is not None:
                self._ending.append(self._thread)
            self._thread = None
            self._end.set()
            self._end = threading.Event()
        for thread in list(self._ending):
            if thread is not threading.current_thread() and self._ends(thread, patience):
                with suppress(ValueError):  # another thread that forks has seen it too
                    self._ending.remove(thread)

    def _ends(self, thread: threading.Thread, patience: float) -> bool:
        """Wait for a thread, and say whether it has ended."""
        end = time.monotonic() + patience
        while time.monotonic() < end and not self._waits_for_me(thread.ident or 0):
            thread.join(0.05)
            if not thread.is_alive():
                _await_end(thread.native_id)
                return True
        return False

    def _run(self, end: threading.Event) -> None:
        while not end.wait(self._seconds):
            self._look()


def _await_end(thread: int | None) -> None:
    """Wait until the system has forgotten a thread: Python counts those when it forks."""
    for _ in range(100):
        if not os.path.exists(f"/proc/self/task/{thread}"):  # noqa: PTH110 - in every fork
            return
        time.sleep(0.0001)
