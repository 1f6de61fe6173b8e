"""The same work on several releases at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Protocol, TypeVar

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONNECTIONS = 8
"""How many releases are worked on at a time, and connections open to one host."""


class Named(Protocol):
    """What messages call by a name, such as a release."""

    @property
    def name(self) -> str:
        """For messages."""


Item = TypeVar("Item", bound=Named)
T = TypeVar("T")


class Progress(Protocol):
    """Told how far long work has come; called in the thread that asked for the work."""

    def __call__(self, done: int, total: int, label: str) -> None:
        """Take note that `done` of `total` are done, the last of which is `label`."""


def for_each(
    items: Sequence[Item],
    work: Callable[[Item], T],
    progress: Progress | None = None,
) -> list[T | UpstreamError]:
    """
    Do the same with every release, or with what reads one, several at a time.

    Args:
        items: what to work on.
        work: is called in other threads.
        progress: told of each that is done.

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
