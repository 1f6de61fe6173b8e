"""The same work on several releases at a time."""

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from queue import SimpleQueue
from typing import Protocol, TypeVar

from patchkit.errors import UpstreamError

AT_ONCE = 8
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

Progress = Callable[[int, int, str], None]
"""Told in the thread that asked for long work how much of it is done, of how much, and the last."""


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], T],
    progress: Progress | None = None,
    helpers: Sequence[Worker[T]] = (),
) -> list[T | UpstreamError]:
    """Do the same with every release, or with what reads one, several at a time.

    What came of each comes back, or why it could not be read. The work is called in other threads,
    neighbours at the same time: what they have in common is read, parsed and concluded once. So
    the helpers, each in a thread, begin at the other end.
    """

    def here(places: Iterable[int]) -> Results[T]:
        return ((at, tried(work, items[at])) for at in places)

    done: _Done[T] = SimpleQueue()
    is_over, left = threading.Event(), deque(range(len(items)))
    workers = [(here, left.popleft)] * AT_ONCE + [(one, left.pop) for one in helpers]
    found: dict[int, T | UpstreamError] = {}
    with ThreadPoolExecutor(len(workers), "patchkit-releases") as threads:
        try:
            for worker, take in workers:
                threads.submit(_run, worker, _taken(take), done, is_over)
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


def _taken(take: Callable[[], int]) -> Iterator[int]:
    with suppress(IndexError):  # nothing is left
        while True:
            yield take()
