"""What many releases say of targets, looked up several at a time, and by two processes."""

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.second_process import SecondProcess
from patchkit.analysis.upstream.reading.parallel import Progress, for_each
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

Wanted = Callable[[CheckedRelease], Iterable[Target]]
T = TypeVar("T")


def learn_all(
    subjects: Sequence[CheckedRelease], wanted: Wanted, progress: Progress | None = None
) -> dict[str, UpstreamError]:
    """Look up in each release what is wanted of it; return who cannot be read, by name.

    A second process learns its share of releases where many have to be learnt.
    """
    second = SecondProcess(subjects, wanted)

    def work(subject: CheckedRelease) -> None:
        second.wait_for(subject)
        subject.learn(wanted(subject))
        subject.rest()

    def count(done: int, total: int, name: str) -> None:
        if progress:
            progress(done + second.ahead, total, name)

    results = in_parallel(subjects, work, count, second)
    return {name: error for name, error in results.items() if isinstance(error, UpstreamError)}


def in_parallel(
    subjects: Sequence[CheckedRelease],
    work: Callable[[CheckedRelease], T],
    progress: Progress | None = None,
    beside: contextlib.AbstractContextManager[object] | None = None,
) -> dict[str, T | UpstreamError]:
    """Do the same with several releases at a time; for each name, what came of it, or its error.

    Args:
        subjects: the releases.
        work: what to do with one of them, in another thread.
        progress: told what is done.
        beside: entered while the work is done; if given, other processes may write conclusions.
    """
    with no_collection():
        results = for_each(subjects, work, progress, beside)
    for kept in {subject.kept for subject in subjects if subject.kept}:
        kept.parsed.forget()
        kept.keep_conclusions(merge=beside is not None)
    return {one.name: result for one, result in zip(subjects, results, strict=True)}


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Collect no circles meanwhile: where millions of nodes live, that outlasts all the rest.

    Neither files that are read nor releases that rest leave circles that hold any.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
