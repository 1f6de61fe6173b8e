"""The same work on several releases at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import Generic, Protocol, TypeVar

from patchkit.errors import UpstreamError

CONNECTIONS = 8
"""How many releases are worked on at a time, and connections open to one host."""


class Named(Protocol):
    """What messages call by a name, such as a release."""

    @property
    def name(self) -> str:
        """For messages."""


Item = TypeVar("Item", bound=Named)
T = TypeVar("T")
Results = Generator[tuple[int, T | UpstreamError], None, None]
Worker = Callable[[Iterable[int]], Results[T]]
"""Takes places of items one after another; gives back each with what came of it."""


class Progress(Protocol):
    """Told how far long work has come; called in the thread that asked for the work."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take note that `done` of `total` are done, the last of which is `label`."""


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], T],
    progress: Progress | None = None,
    helpers: Sequence[Worker[T]] = (),
) -> list[T | UpstreamError]:
    """
    Do the same with every release, or with what reads one, several at a time.

    Args:
        items: what to work on; neighbours are worked on at the same time.
        work: is called in other threads.
        progress: told of each that is done.
        helpers: take a share of the items, each in a thread and a part of the items of its own.

    Returns:
        For each item, in their order, what came of it, or why it could not be read.

    """

    def here(places: Iterable[int]) -> Results[T]:
        return ((at, tried(work, items[at])) for at in places)

    shares = _Shares(len(items))
    ours = _Share(shares)
    workers = [(here, ours)] * CONNECTIONS + [(one, _Share(shares)) for one in helpers]
    running = _Running[T]()
    found: dict[int, T | UpstreamError] = {}
    with ThreadPoolExecutor(len(workers), "patchkit-releases") as threads:
        try:
            for worker, share in workers:
                threads.submit(running.run, worker, share)
            while len(found) < len(items):
                at, found[at] = running.next()
                if progress:
                    progress(len(found), len(items), items[at].name)
        finally:
            running.is_over = True
    return [found[at] for at in range(len(items))]


def tried(work: Callable[[Item], T], item: Item) -> T | UpstreamError:
    """Work on an item; an error of its own is what came of it."""
    try:
        return work(item)
    except UpstreamError as error:
        return error


class _Running(Generic[T]):
    """What comes of the work of several threads."""

    def __init__(self) -> None:
        self.is_over = False
        self._done: SimpleQueue[tuple[int, T | UpstreamError] | BaseException] = SimpleQueue()

    def run(self, worker: Worker[T], places: Iterable[int]) -> None:
        try:
            with closing(worker(places)) as results:
                for one in results:
                    self._done.put(one)
                    if self.is_over:
                        return
        except BaseException as error:  # noqa: BLE001 - raised where the work was asked for
            self._done.put(error)

    def next(self) -> tuple[int, T | UpstreamError]:
        done = self._done.get()
        if isinstance(done, BaseException):
            raise done  # it is no release's fault
        return done


class _Shares:
    """
    The places that nobody has taken.

    What neighbours have in common is read, parsed and concluded once. So whoever has taken a place
    goes on with the next; who cannot begins a row that nobody is at, or the second half of one.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._rows = [range(count)]
        self._ends: set[int | None] = set()

    def take(self, last: int | None) -> int | None:
        """Take the place after the last one, or another; None where all are taken."""
        with self._lock:
            self._ends.discard(last)
            self._rows = [row for row in self._rows if row]
            if not self._rows:
                return None
            row = next((row for row in self._rows if row.start - 1 == last), None)
            row = row or self._split(max(self._rows, key=len))
            self._rows[self._rows.index(row)] = row[1:]
            self._ends.add(row.start)
            return row.start

    def _split(self, row: range) -> range:
        if row.start - 1 not in self._ends:
            return row
        half = len(row) // 2
        self._rows[self._rows.index(row)] = row[:half]
        self._rows.append(row[half:])
        return row[half:]


class _Share(Iterator[int]):
    """The places that one process takes; safe for threads."""

    def __init__(self, shares: _Shares) -> None:
        self._shares = shares
        self._lock = threading.Lock()
        self._last: int | None = None

    def __next__(self) -> int:
        with self._lock:
            self._last = self._shares.take(self._last)
            if self._last is None:
                raise StopIteration
            return self._last
