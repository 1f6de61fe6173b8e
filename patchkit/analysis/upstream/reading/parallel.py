"""Does the same work on several releases at a time."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeVar

from patchkit.errors import UpstreamError

CONNECTIONS = 8
"""How many releases are worked on at a time, and how many connections one host may have."""


PATIENCE = 1.0
"""How many seconds an interrupted command waits for its threads.

A thread that waits for the answer of a server cannot be ended before the time for that is over.
"""


class Named(Protocol):
    """Something with a name for messages, such as a release."""

    @property
    def name(self) -> str:
        """Its name in messages."""


ReleaseT = TypeVar("ReleaseT", bound=Named)
T = TypeVar("T")

Progress = Callable[[int, int, str], None]
"""A function that is told how far long work has come, in the thread that started the work.

It is called with how many parts are done, how many there are, and the name of the last one done.
"""


@contextlib.contextmanager
def worker_threads(name: str) -> Iterator[ThreadPoolExecutor]:
    """Yield threads, and wait for their work in the end; not for long after an interruption.

    Args:
        name: How the names of the threads begin.

    Yields:
        The threads.
    """
    threads = ThreadPoolExecutor(CONNECTIONS, name)
    try:
        yield threads
    except Exception:
        threads.shutdown()
        raise
    except BaseException:
        threads.shutdown(wait=False, cancel_futures=True)
        waiting = threading.Thread(target=threads.shutdown, daemon=True)
        waiting.start()
        waiting.join(PATIENCE)
        raise
    threads.shutdown()


def for_each(
    releases: Sequence[ReleaseT],
    work: Callable[[ReleaseT], T],
    progress: Progress | None = None,
    context: AbstractContextManager[object] | None = None,
) -> list[T | UpstreamError]:
    """Call a function with every release, with several at a time in other threads.

    Releases next to each other are worked on at the same time, so that files which they share are
    read and parsed once.

    Args:
        releases: The releases, or other objects that each stand for one.
        work: The function.
        progress: Called when one is done.
        context: What the work needs meanwhile, such as a process that shares it. It is entered
            before the first call, and exited before the threads are waited for, also on an error.

    Returns:
        In the order of the releases, what the function returned, or why a release could not be
        read.
    """
    with (
        worker_threads("patchkit-releases") as threads,
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
            threads.shutdown(wait=False, cancel_futures=True)  # begin no further work
            raise
    return [future.result() for future in futures]


def tried(work: Callable[[ReleaseT], T], release: ReleaseT) -> T | UpstreamError:
    """Call a function with a release; return the error if the release cannot be read.

    Args:
        work: The function.
        release: The release.

    Returns:
        What the function returns, or the error.
    """
    try:
        return work(release)
    except UpstreamError as error:
        return error
