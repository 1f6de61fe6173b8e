"""The same work on several releases at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
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

Progress = Callable[[int, int, str], None]
"""Told in the thread that asked for long work how much of it is done, of how much, and the last."""


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], T],
    progress: Progress | None = None,
    beside: AbstractContextManager[object] | None = None,
) -> list[T | UpstreamError]:
    """Do the same with every release, or with what reads one, several at a time.

    What came of each comes back, or why it could not be read. The work is called in other threads,
    neighbours at the same time: what they have in common is read, parsed and concluded once.

    Args:
        items: the releases.
        work: what to do with each.
        progress: told when one is done.
        beside: entered before the first one; left before threads are waited for, also in an error.
    """
    with ThreadPoolExecutor(CONNECTIONS, "patchkit-releases") as threads, beside or nullcontext():
        started = {threads.submit(tried, work, one): one for one in items}
        try:
            for count, done in enumerate(as_completed(started), 1):
                done.result()  # an error that is no release's fault is raised at once
                if progress:
                    progress(count, len(items), started[done].name)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return [one.result() for one in started]


def tried(work: Callable[[Item], T], item: Item) -> T | UpstreamError:
    """Work on an item; an error of its own is what came of it."""
    try:
        return work(item)
    except UpstreamError as error:
        return error
