"""What several releases say of targets, looked up at a time."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, TypeVar

from patchkit.check.learners import learners
from patchkit.errors import UpstreamError
from patchkit.upstream.reading.parallel import for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.reading.parallel import Progress, Worker

T = TypeVar("T")


def learn_all(
    subjects: Sequence[Subject],
    wanted: Callable[[Subject], Iterable[Target]],
    progress: Progress | None = None,
) -> dict[str, UpstreamError]:
    """
    Look up in each release what is wanted of it, several at a time, in several processes.

    What comes back is the error of each release that cannot be read, by its name.
    """

    def work(subject: Subject) -> None:
        subject.learn(wanted(subject))
        subject.rest()

    results = in_parallel(subjects, work, progress, learners(subjects, wanted, work))
    for kept in {subject.kept for subject in subjects if subject.kept}:
        kept.keep_conclusions()
    return {name: error for name, error in results.items() if isinstance(error, UpstreamError)}


def in_parallel(
    subjects: Sequence[Subject],
    work: Callable[[Subject], T],
    progress: Progress | None = None,
    helpers: Sequence[Worker[T]] = (),
) -> dict[str, T | UpstreamError]:
    """Do the same with several releases at a time; for each name, what came of it, or its error."""
    with _no_collection():
        results = for_each(subjects, work, progress, helpers)
    for kept in {subject.kept for subject in subjects if subject.kept}:
        kept.parsed.forget()
    return {one.name: result for one, result in zip(subjects, results, strict=True)}


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """
    Look for no garbage in circles meanwhile.

    That takes longer than all the rest where millions of nodes are alive. Releases that rest leave
    no circles that hold any.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
