"""What several releases say of targets, looked up at a time."""

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from patchkit.analysis.check.subjects import Subject
from patchkit.analysis.upstream.reading.parallel import Progress, for_each
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

Wanted = Callable[[Subject], Iterable[Target]]
T = TypeVar("T")


def learn_all(
    subjects: Sequence[Subject], wanted: Wanted, progress: Progress | None = None
) -> dict[str, UpstreamError]:
    """Look up in each release what is wanted of it; return who cannot be read, by name."""

    def work(subject: Subject) -> None:
        subject.learn(wanted(subject))
        subject.rest()

    results = in_parallel(subjects, work, progress)
    return {name: error for name, error in results.items() if isinstance(error, UpstreamError)}


def in_parallel(
    subjects: Sequence[Subject],
    work: Callable[[Subject], T],
    progress: Progress | None = None,
) -> dict[str, T | UpstreamError]:
    """Do the same with several releases at a time; for each name, what came of it, or its error."""
    with no_collection():
        results = for_each(subjects, work, progress)
    for kept in {subject.kept for subject in subjects if subject.kept}:
        kept.parsed.forget()
        kept.keep_conclusions()
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
