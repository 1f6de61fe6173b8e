"""The same work on several releases at a time."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Protocol, TypeVar

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

CONNECTIONS = 8
"""How many releases are worked on at a time, and connections open to one host."""

Progress = Callable[[int, int, str], None]
"""Told how many of how many are done, and the name of the last; in the thread that asked."""


class Named(Protocol):
    """What messages call by a name, such as a release."""

    @property
    def name(self) -> str:
        """For messages."""


Item = TypeVar("Item", bound=Named)
T = TypeVar("T")


def for_each(
    items: Sequence[Item], work: Callable[[Item], T], progress: Progress | None = None
) -> list[T | UpstreamError]:
    """
    Do the same with every release, or with what reads one, in several threads.

    Returns:
        For each item, in their order, what came of it, or why it could not be read.

    """
    with ThreadPoolExecutor(CONNECTIONS, "patchkit-releases") as workers:
        tasks = {workers.submit(_tried, work, item): item for item in items}
        try:
            for done, task in enumerate(as_completed(tasks), start=1):
                task.result()  # raises what is no release's fault
                if progress:
                    progress(done, len(tasks), tasks[task].name)
        except BaseException:
            workers.shutdown(cancel_futures=True)
            raise
    return [task.result() for task in tasks]


def _tried(work: Callable[[Item], T], item: Item) -> T | UpstreamError:
    try:
        return work(item)
    except UpstreamError as error:
        return error
