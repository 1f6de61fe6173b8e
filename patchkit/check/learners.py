"""Other processes that learn releases: only one thread of a process runs Python at a time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from patchkit.errors import UnreachableError, UpstreamError
from patchkit.upstream.reading.parallel import CONNECTIONS, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.reading.parallel import Results, Worker
    from patchkit.upstream.reading.releases import Library

    Wanted = Callable[[Subject], Iterable[Target]]

_PROCESSES = 4
"""At most; each takes some 200 MB."""
_EACH = 8
"""Releases for which a process is worth its start."""
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from patchkit.check.learner import main; main()"


def learners(subjects: Sequence[Subject], wanted: Wanted) -> list[Worker[None]]:
    """Offer as many other processes as there are cores for, to learn a share of releases each."""
    several = min(_cores(), _PROCESSES, len(subjects) // _EACH)
    return [Learner(subjects, wanted).learnt for _ in range(several - 1)]


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class Learner:
    """
    A process that looks releases up, and keeps what they say in the cache.

    It starts with the first release that is not known yet. What it has not done, whatever the
    reason, is done here.

    Args:
        subjects: the releases.
        wanted: what to look up in each.

    """

    def __init__(self, subjects: Sequence[Subject], wanted: Wanted) -> None:
        self._subjects = subjects
        self._wanted = wanted
        self._process: subprocess.Popen[bytes] | None = None
        self._notice: Callable[[str], None] = print
        self._is_gone = False

    def learnt(self, places: Iterable[int]) -> Results[None]:
        """Have the releases at some places learnt; give back each with its error, or None."""
        waiting: set[int] = set()
        try:
            for at in places:
                if not self._asked(at):
                    yield at, self._here(at)
                    continue
                waiting.add(at)
                if len(waiting) == CONNECTIONS:
                    yield from self._answered(waiting)
            while waiting:
                yield from self._answered(waiting)
        finally:
            self._end(is_done=not waiting)

    def _here(self, at: int) -> UpstreamError | None:
        def work(subject: Subject) -> None:
            subject.learn(self._wanted(subject))
            subject.rest()

        return tried(work, self._subjects[at])

    def _asked(self, at: int) -> bool:
        """Ask for a release; False where there is nothing to ask, or nobody."""
        subject = self._subjects[at]
        try:
            targets = subject.unknown(self._wanted(subject))
        except UpstreamError:
            return False  # once more here, it has the same words
        release = subject.release
        if self._is_gone or not targets or not release or not release.library.cache.directory:
            return False
        try:
            process = self._process or self._start(release.library)
            link = (release.project, release.version, release.link)
            _send(process, (at, link, [str(one) for one in targets]))
        except OSError:
            self._is_gone = True
        return not self._is_gone

    def _start(self, library: Library) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-c", _CODE, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PATCHKIT": "0"},
            start_new_session=True,  # Ctrl-C is for this process, which ends it
        )
        self._notice = library.notice
        _send(self._process, (str(library.cache.directory), library.settings, library.offline))
        return self._process

    def _answered(self, waiting: set[int]) -> Iterator[tuple[int, UpstreamError | None]]:
        """Wait for one release, or do all here that were asked for."""
        answer = self._answer()
        for at in sorted(waiting) if answer is None else (answer[0],):
            waiting.discard(at)
            subject = self._subjects[at]
            subject.recall()
            subject.fault = answer[1] if answer else None
            yield at, self._here(at)

    def _answer(self) -> tuple[int, UpstreamError | None] | None:
        assert self._process
        assert self._process.stdout
        with contextlib.suppress(ValueError):  # a line may be cut off
            for line in self._process.stdout:
                at, words, cause = json.loads(line)
                if at is not None:
                    return at, _fault(words, cause)
                self._notice(words)
        self._is_gone = True
        return None

    def _end(self, *, is_done: bool) -> None:
        """Let it write down what it has concluded; or, where the work is broken off, nothing."""
        if self._process:
            if not is_done:
                self._process.kill()
            self._process.communicate()


def _fault(words: str, cause: str) -> UpstreamError | None:
    fault = UpstreamError(words) if words else None
    if fault and cause:
        fault.__cause__ = UnreachableError(cause)
    return fault


def _send(process: subprocess.Popen[bytes], message: Any) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
