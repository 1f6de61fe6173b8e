"""What several releases say of targets, looked up at a time, also in other processes.

Only one thread of a process runs Python at a time, so others take a share of many releases.
"""

import contextlib
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from patchkit.check.opening import of_release
from patchkit.check.subjects import Kept, Subject
from patchkit.errors import UnreachableError, UpstreamError
from patchkit.rows.target import Target
from patchkit.upstream.reading.cache import Cache
from patchkit.upstream.reading.index import Link
from patchkit.upstream.reading.parallel import AT_ONCE, Progress, Results, Worker, for_each, tried
from patchkit.upstream.reading.releases import Library, Release
from patchkit.upstream.reading.settings import PipSettings

Work = Callable[[Subject], None]
Wanted = Callable[[Subject], Iterable[Target]]
T = TypeVar("T")
_PROCESSES = 4  # at most; each takes some 250 MB
_EACH = 4  # releases for which a process is worth its start
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from patchkit.check.learning import main; main()"
_END = "end\n"


def learn_all(
    subjects: Sequence[Subject], wanted: Wanted, progress: Progress | None = None
) -> dict[str, UpstreamError]:
    """Look up in each release what is wanted of it; return who cannot be read, by name."""

    def work(subject: Subject) -> None:
        subject.learn(wanted(subject))
        subject.rest()

    # As many other processes as there are cores for.
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    several = min(cores, _PROCESSES, len(subjects) // _EACH)
    learners = [_Learner(subjects, wanted, work).learnt for _ in range(several - 1)]
    results = in_parallel(subjects, work, progress, learners)
    return {name: error for name, error in results.items() if isinstance(error, UpstreamError)}


def in_parallel(
    subjects: Sequence[Subject],
    work: Callable[[Subject], T],
    progress: Progress | None = None,
    helpers: Sequence[Worker[T]] = (),
) -> dict[str, T | UpstreamError]:
    """Do the same with several releases at a time; for each name, what came of it, or its error."""
    with no_collection():
        results = for_each(subjects, work, progress, helpers)
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


class _Learner:
    """A process that looks releases up, and keeps what they say in the cache.

    It starts when something is not known. What it has not done, why ever, is done here.
    """

    def __init__(self, subjects: Sequence[Subject], wanted: Wanted, work: Work) -> None:
        self._subjects = subjects
        self._wanted = wanted
        self._work = work
        self._process: subprocess.Popen[str] | None = None
        self._notice: Callable[[str], None] = print

    def learnt(self, places: Iterable[int]) -> Results[None]:
        """Have the releases at some places learnt; give back each with its error, or None."""
        waiting: list[int] = []
        try:
            with contextlib.suppress(OSError, ValueError):  # it does not start, or is gone
                for at in places:
                    waiting.append(at)
                    if not self._ask(at):
                        yield self._done(at, waiting)
                    elif len(waiting) == AT_ONCE:
                        yield self._done(self._answered(), waiting)
                while waiting:
                    yield self._done(self._answered(), waiting)
                if self._process:
                    self._process.communicate(_END)
        finally:
            if self._process:
                self._process.kill()
                self._process.communicate()
        for at in (*waiting, *places):
            yield at, tried(self._work, self._subjects[at])

    def _done(self, at: int, waiting: list[int]) -> tuple[int, UpstreamError | None]:
        result = tried(self._work, self._subjects[at])
        waiting.remove(at)
        return at, result

    def _ask(self, at: int) -> bool:
        """Ask for a release; False where it is known, or no other process can know it."""
        subject = self._subjects[at]
        try:
            targets = list(map(str, subject.unknown(self._wanted(subject))))
        except UpstreamError:
            return False
        release = subject.release
        if not targets or release is None or release.library.cache.directory is None:
            return False
        if not self._process:
            self._start(release.library, brief=bool(subject.kept and subject.kept.brief))
        self._send((at, release.project, release.version, release.link, targets))
        return True

    def _start(self, library: Library, *, brief: bool) -> None:
        self._notice = library.notice
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-c", _CODE, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PATCHKIT": "0"},
            start_new_session=True,  # Ctrl-C is for this process, which ends it
        )
        self._send((str(library.cache.directory), library.settings, library.offline, brief))

    def _send(self, message: object) -> None:
        assert self._process
        print(json.dumps(message), file=self._process.stdin, flush=True)

    def _answered(self) -> int:
        assert self._process
        assert self._process.stdout
        while True:
            at, words, cause = json.loads(self._process.stdout.readline())
            if at is not None:
                break
            self._notice(words)
        subject = self._subjects[at]
        subject.recall()
        if words:
            subject.fault = UpstreamError(words)
            subject.fault.__cause__ = UnreachableError(cause) if cause else None
        return int(at)


def main() -> None:
    """Learn what stdin asks for; end with it, whatever is left then."""
    gc.disable()

    def tell(at: int | None, words: str = "", cause: str = "") -> None:
        print(json.dumps((at, words, cause)) + "\n", end="", flush=True)  # in one piece

    def learn(at: int, project: str, version: str, link: list[Any], targets: list[str]) -> None:
        try:
            subject = of_release(Release(project, version, Link(*link), library), kept)
            fault = tried(lambda one: one.learn(map(Target.parse, targets)), subject)
            cause = fault.__cause__ if fault else None
            is_far = isinstance(cause, UnreachableError)
            tell(at, str(fault or ""), str(cause) if is_far else "")
        except BaseException:  # noqa: BLE001 - the first process does the rest, and says what is wrong
            os._exit(1)

    directory, settings, offline, brief = json.loads(sys.stdin.readline())
    cache = Cache(Path(directory), lambda text: tell(None, text))
    kept = Kept(cache, brief=brief)
    library = Library(PipSettings(*settings), cache, offline=offline, notice=cache.notice)
    workers = ThreadPoolExecutor(AT_ONCE)
    for line in sys.stdin:
        if line == _END:
            kept.keep_conclusions()
            break
        workers.submit(learn, *json.loads(line))
    os._exit(0)  # without giving its memory back first
