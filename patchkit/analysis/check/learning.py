"""Looks targets up in several releases at a time, and in two processes if there are many."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.second_process import SecondProcess
from patchkit.analysis.collection import no_collection
from patchkit.analysis.upstream.reading.parallel import Progress, for_each
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

T = TypeVar("T")


def learn_all(
    releases: Sequence[CheckedRelease],
    targets_of: Callable[[CheckedRelease], Iterable[Target]],
    progress: Progress | None = None,
) -> dict[str, UpstreamError]:
    """Look targets up in each release; a second process takes a share of many releases.

    Args:
        releases: The releases.
        targets_of: Returns the targets to look up in a release; it is called in other threads.
        progress: Called when a release is done.

    Returns:
        The errors of the releases that cannot be read, by their names.
    """
    # Both the second process and this one ask which targets a release needs.
    remembered = functools.cache(
        lambda release: list(dict.fromkeys(targets_of(release)))
    )
    second = SecondProcess(releases, remembered)

    def learn(release: CheckedRelease) -> None:
        # If the other process has taken this release, this waits for it. The facts are in the cache
        # then, and `learn` looks up only what is missing there.
        with second.turn(release):
            release.learn(remembered(release))
            release.forget_sources()

    def count(done: int, total: int, name: str) -> None:
        # `done` counts this process's releases; those of the other process count as done, too.
        if progress:
            progress(done + second.ahead, total, name)

    results = in_parallel(releases, learn, count, second)
    return {
        name: error
        for name, error in results.items()
        if isinstance(error, UpstreamError)
    }


def in_parallel(
    releases: Sequence[CheckedRelease],
    work: Callable[[CheckedRelease], T],
    progress: Progress | None = None,
    second: contextlib.AbstractContextManager[object] | None = None,
) -> dict[str, T | UpstreamError]:
    """Call a function with each release, in several threads, and cache what it has looked up.

    What goes to the cache are conclusions: facts of targets, with the evidence for them.

    Args:
        releases: The releases.
        work: The function.
        progress: Called when a release is done.
        second: A context manager to enter for the time of the work, in which another process looks
            targets up too; conclusions that it writes to the cache are preserved.

    Returns:
        For each release, by its name, what the function has returned, or the error it has raised.
    """
    with no_collection():
        results = for_each(releases, work, progress, second)
        # Before a collection, which would look at every node of the trees.
        for store in {release.store for release in releases if release.store}:
            store.parsed.forget()
            store.keep_conclusions(merge=second is not None)
    names = [release.name for release in releases]
    return dict(zip(names, results, strict=True))
