"""A second process that learns a share of many releases.

Only one thread of a process runs Python at a time, and most of a first check is spent on parsing.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, suppress
from types import TracebackType

from patchkit.analysis.check import learner
from patchkit.analysis.check.learner import IN_FLIGHT, Answer, Request, Task
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_CODE = "import sys; sys.path[:] = sys.argv[1:]; from {} import main; main()"
_WORTHWHILE = 8  # releases to learn, of which it gets the first half: its start takes half a second


class SecondProcess(AbstractContextManager["SecondProcess"]):
    """Has releases learnt by another process, from the last one on.

    This process begins with the first, and calls `wait_for` before each. The other process starts
    once there are enough that are not known, where there is a core for it, and writes to the cache
    what it learns. It reports no errors: what it has not learnt, for whatever reason, this process
    learns itself.

    Args:
        subjects: the releases; those that no other process can open are left alone.
        wanted: what has to be looked up in a release; called in a thread.
    """

    def __init__(
        self,
        subjects: Sequence[CheckedRelease],
        wanted: Callable[[CheckedRelease], Iterable[Target]],
    ) -> None:
        self._subjects = subjects
        self._wanted = wanted
        self._numbers = {subject: number for number, subject in enumerate(subjects)}
        # Who removes a number, which is atomic, has the release: this process or the thread below.
        self._free = dict.fromkeys(range(len(subjects)), True)
        self._is_back = [threading.Event() for _ in subjects]  # of what the thread has had
        self._learnt: set[int] = set()
        self._notify: Callable[[str], None] = print
        self._process: subprocess.Popen[str] | None = None
        self._is_broken_off = False
        self._thread = threading.Thread(target=self._run, name="patchkit-second-process")

    def __enter__(self) -> "SecondProcess":
        """Begin to hand out releases."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the other process: at once after an error, else when it has written everything."""
        if kind:
            self._is_broken_off = True
            self._free.clear()
            if self._process:
                self._process.kill()
        self._thread.join()

    @property
    def ahead(self) -> int:
        """How many releases it has learnt that this process has not come to yet."""
        return len(self._learnt)

    def wait_for(self, subject: CheckedRelease) -> None:
        """Return when a release is this process's to look into: when the other one is done.

        Raises:
            CancelledError: the work was broken off meanwhile.
        """
        number = self._numbers[subject]
        if self._free.pop(number, False):
            return
        self._is_back[number].wait()
        self._learnt.discard(number)
        if self._is_broken_off:
            raise CancelledError

    def _run(self) -> None:
        is_done = False
        try:
            # What goes wrong here goes wrong again in this process, which reports it.
            with suppress(Exception):
                if _has_core():
                    self._hand_out()
                is_done = True
            self._end(at_once=not is_done)
        finally:
            for event in self._is_back:
                event.set()

    def _hand_out(self) -> None:
        # What the other process has, or may get when it starts, by number.
        pending: dict[int, Request] = {}
        while self._free:
            request = self._next()
            if request is None:
                continue
            pending[request.number] = request
            if self._process:
                self._send(request)
            elif len(pending) < _WORTHWHILE:
                continue
            else:
                while len(pending) > IN_FLIGHT:
                    spare, _ = pending.popitem()
                    self._is_back[spare].set()
                self._start([*pending.values()])
            self._await_answer(pending)
        while self._process and pending:
            self._await_answer(pending)

    def _next(self) -> Request | None:
        """Take the last release that is free; None where there is nothing to learn of it."""
        try:
            number, _ = self._free.popitem()
        except KeyError:
            return None  # this process was faster
        request = None
        with suppress(UpstreamError):
            request = self._request(number)
        if request is None:
            self._is_back[number].set()
        return request

    def _request(self, number: int) -> Request | None:
        subject = self._subjects[number]
        release = subject.release
        if release is None or release.library.cache.directory is None:
            return None  # no other process could open it, or give back what it learns
        targets = [str(target) for target in subject.unknown(self._wanted(subject))]
        if not targets:
            return None
        return Request(number, release.project, release.version, release.link, targets)

    def _start(self, requests: Sequence[Request]) -> None:
        subject = self._subjects[requests[0].number]
        assert subject.release
        assert subject.kept
        library = subject.release.library
        self._notify = library.notice
        cache = str(library.cache.directory)
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-c", _CODE.format(learner.__name__), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PATCHKIT": "0"},
            start_new_session=True,  # Ctrl-C is for this process, which ends it
        )
        if self._is_broken_off:  # before there was anything to kill
            self._process.kill()
        self._send(Task(cache, library.settings, library.offline, subject.kept.brief))
        for request in requests:
            self._send(request)

    def _send(self, message: Task | Request) -> None:
        assert self._process
        print(json.dumps(message), file=self._process.stdin, flush=True)

    def _await_answer(self, pending: dict[int, Request]) -> None:
        """Wait until one release of those pending is done, and pass on what is told meanwhile."""
        assert self._process
        assert self._process.stdout
        answer = Answer(*json.loads(self._process.stdout.readline()))  # '' if it is gone: an error
        while answer.number is None:
            self._notify(answer.notice)
            answer = Answer(*json.loads(self._process.stdout.readline()))
        del pending[answer.number]  # an error where it was not asked for
        self._subjects[answer.number].recall()
        self._learnt.add(answer.number)
        self._is_back[answer.number].set()

    def _end(self, *, at_once: bool) -> None:
        if self._process is None:
            return
        if at_once:
            self._process.kill()
        self._process.communicate()


def _has_core() -> bool:
    """Whether another process would run beside this one rather than in turns with it."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return cores > 1
