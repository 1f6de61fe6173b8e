"""Does the same work on several releases at a time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from patchkit.errors import UpstreamError

CONNECTIONS = 8
"""How many releases are worked on at a time, and connections open to one host."""


class Named(Protocol):
    """Something with a name for messages, such as a release."""

    @property
    def name(self) -> str:
        """What messages call it."""


ReleaseT = TypeVar("ReleaseT", bound=Named)
T = TypeVar("T")

Progress = Callable[[int, int, str], None]
"""Called after each part of long work, in the thread that asked for it.

It is called with the number of the parts that are done, that of all, and the name of the last.
"""


def for_each(
    releases: Sequence[ReleaseT],
    work: Callable[[ReleaseT], T],
    progress: Progress | None = None,
    context: AbstractContextManager[object] | None = None,
) -> list[T | UpstreamError]:
    """Do the same with every release, or with what reads one, several at a time.

    The work is called in other threads, on neighbours at the same time: what they have in common is
    read, parsed and concluded once.

    Args:
        releases: The releases.
        work: What to do with each.
        progress: Called when one is done.
        context: Entered before the first one; left before threads are waited for, also in an error.

    Returns:
        What the work returned for each release, or why it could not be read, in their order.
    """
    with (
        ThreadPoolExecutor(CONNECTIONS, "patchkit-releases") as threads,
        context or nullcontext(),
    ):
        futures = {
            threads.submit(tried, work, release): release for release in releases
        }
        try:
            for count, future in enumerate(as_completed(futures), 1):
                future.result()  # an error that is no release's fault is raised at once
                if progress:
                    progress(count, len(releases), futures[future].name)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def tried(work: Callable[[ReleaseT], T], release: ReleaseT) -> T | UpstreamError:
    """Call a function with a release.

    Args:
        work: The function.
        release: What it is called with.

    Returns:
        What it returns, or the error that it raises because the release cannot be read.
    """
    try:
        return work(release)
    except UpstreamError as error:
        return error
