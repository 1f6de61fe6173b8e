"""Lets threads that each go through many modules go through them side by side.

Neighbouring releases have many equal files. A file is parsed once for all releases that need it at
the same time, but there is no memory for the parsed files of a whole release. So threads that look
targets up in different releases go through the modules in one order, and take turns: while one is
at a module, none goes ahead of it.
"""

import contextlib
import heapq
import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Stop(NamedTuple):
    """A module that a thread comes to.

    Args:
        lap: How many times the scan has begun anew before it comes to the module.
        module: The name of the module.
    """

    lap: int
    module: str


class _Waiting:
    """A thread that waits for its turn.

    Args:
        stop: The stop that it has come to.
    """

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.has_turn = False
        # Not an Event, which takes twelve times as long: there are thousands of turns.
        self._signal = threading.Lock()
        self._signal.acquire()

    def __lt__(self, other: "_Waiting") -> bool:
        return self.stop < other.stop

    def wait(self) -> None:
        """Wait for the turn; to be called once."""
        self._signal.acquire()

    def begin(self) -> None:
        """Give the turn to the thread; to be called once."""
        self.has_turn = True
        self._signal.release()


class SharedScan:
    """A scan of modules by several threads, of which one is at work at a time.

    A thread may join at any time: it begins where the others are, and goes through the modules
    before that in the next lap, where later threads join it in turn.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[_Waiting] = []  # a heap, whose first is the next one
        self._position = Stop(0, "")  # the farthest stop that any thread has come to
        self._is_taken = False  # whether a thread is at work

    def stops(self, modules: Iterable[str]) -> list[Stop]:
        """Return the stops at which a thread comes to modules, in order.

        Args:
            modules: The names of the modules.
        """
        with self._lock:
            lap, position = self._position
        stops: list[Stop] = []
        for module in modules:
            is_ahead = module >= position
            stops.append(Stop(lap if is_ahead else lap + 1, module))
        return sorted(stops)

    @contextlib.contextmanager
    def turn(self, stop: Stop) -> Iterator[None]:
        """Work at a stop, while all other threads wait.

        Args:
            stop: The stop; of several threads, the one with the first stop goes first.

        Yields:
            Nothing.
        """
        waiting = _Waiting(stop)
        with self._lock:
            heapq.heappush(self._waiting, waiting)
            if not self._is_taken:
                self._begin_next()
        try:
            waiting.wait()
            yield
        finally:
            with self._lock:
                self._leave(waiting)

    def _leave(self, waiting: _Waiting) -> None:
        """End the turn of a thread, or its wait where Ctrl-C has ended that; the lock is held."""
        if waiting.has_turn:
            self._begin_next()
        else:
            self._waiting.remove(waiting)
            heapq.heapify(self._waiting)

    def _begin_next(self) -> None:
        """Let the next thread work, and wake it alone; the lock is held.

        If each turn woke all threads that wait, most of them would only see that it is not theirs.
        """
        self._is_taken = bool(self._waiting)
        if self._waiting:
            following = heapq.heappop(self._waiting)
            self._position = max(self._position, following.stop)
            following.begin()
