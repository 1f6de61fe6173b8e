"""The same work on several releases at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from queue import SimpleQueue
from typing import Protocol, TypeVar

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
_Done = SimpleQueue[tuple[int, T | UpstreamError] | BaseException]


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

    What came of each comes back, or why it could not be read. The work is called in other threads,
    neighbours at the same time; each of the helpers takes a part of the items, in a thread.
    """

    def here(places: Iterable[int]) -> Results[T]:
        return ((at, tried(work, items[at])) for at in places)

    done: _Done[T] = SimpleQueue()
    is_over, shares = threading.Event(), _Shares(len(items))
    workers = [(here, shares.of_one())] * CONNECTIONS + [(one, shares.of_one()) for one in helpers]
    found: dict[int, T | UpstreamError] = {}
    with ThreadPoolExecutor(len(workers), "patchkit-releases") as threads:
        try:
            for worker, places in workers:
                threads.submit(_run, worker, places, done, is_over)
            while len(found) < len(items):
                result = done.get()
                if isinstance(result, BaseException):
                    raise result  # it is no release's fault
                found[result[0]] = result[1]
                if progress:
                    progress(len(found), len(items), items[result[0]].name)
        finally:
            is_over.set()
    return [found[at] for at in range(len(items))]


def _run(
    worker: Worker[T], places: Iterable[int], done: _Done[T], is_over: threading.Event
) -> None:
    try:
        with closing(worker(places)) as results:
            for one in results:
                done.put(one)
                if is_over.is_set():
                    return
    except BaseException as error:  # noqa: BLE001 - raised where the work was asked for
        done.put(error)


def tried(work: Callable[[Item], T], item: Item) -> T | UpstreamError:
    """Work on an item; an error of its own is what came of it."""
    try:
        return work(item)
    except UpstreamError as error:
        return error


class _Shares:
    """
    The places that nobody has taken; safe for threads.

    What neighbours have in common is read, parsed and concluded once. So whoever has taken a place
    goes on with the next; who cannot begins a row that nobody is at, or the second half of one.
    """

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._rows = [range(count)]

    def of_one(self) -> Iterator[int]:
        """Take places one after another, for the threads of one process."""
        return iter(partial(self._take, [-1]), None)

    def _take(self, last: list[int]) -> int | None:
        with self._lock:
            self._rows = [row for row in self._rows if row]
            if not self._rows:
                return None
            row = next((row for row in self._rows if row.start - 1 == last[0]), None)
            row = row or self._half(max(self._rows, key=len))
            self._rows[self._rows.index(row)] = row[1:]
            last[0] = row.start
            return row.start

    def _half(self, row: range) -> range:
        half = len(row) // 2
        self._rows[self._rows.index(row)] = row[:half]
        self._rows.append(row[half:])
        return row[half:]
