"""Run a second process that looks targets up in a share of many releases.

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
_WORTHWHILE = 8
"""How many releases have to be learnt before the other process is started, which takes 0.5 s."""


class SecondProcess(AbstractContextManager["SecondProcess"]):
    """Has releases learnt by another process, from the last one on.

    This process begins with the first, and calls `wait_for` before each. The other process starts
    once there are enough that are not known, if there is a core for it, and writes what it learns
    to the cache. It reports no errors: what it has not learnt, for whatever reason, this process
    learns itself.

    Args:
        releases: The releases; those that no other process can open are left to this one.
        targets_of: Returns the targets to look up in a release; it is called in a thread.
    """

    def __init__(
        self,
        releases: Sequence[CheckedRelease],
        targets_of: Callable[[CheckedRelease], Iterable[Target]],
    ) -> None:
        self._releases = releases
        self._targets_of = targets_of
        self._numbers = {release: number for number, release in enumerate(releases)}
        # Whoever removes a number, which is atomic, gets the release: this process or the thread.
        self._free = dict.fromkeys(range(len(releases)), True)
        # For each release that the thread has got: whether it is done with it.
        self._is_back = [threading.Event() for _ in releases]
        self._learnt: set[int] = set()
        self._notify: Callable[[str], None] = print
        self._process: subprocess.Popen[str] | None = None
        self._is_broken_off = False
        self._thread = threading.Thread(
            target=self._run, name="patchkit-second-process"
        )

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

    def wait_for(self, release: CheckedRelease) -> None:
        """Wait until this process may look into a release: until the other one is done with it.

        Args:
            release: One of the releases.

        Raises:
            CancelledError: The work was broken off meanwhile.
        """
        number = self._numbers[release]
        if self._free.pop(number, False):
            return
        self._is_back[number].wait()
        self._learnt.discard(number)
        if self._is_broken_off:
            raise CancelledError

    def _run(self) -> None:
        """Hand out releases, and end the other process; this is what the thread does."""
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
        """Request releases as long as there are free ones, and wait for the answers.

        The other process is started once there are enough releases, and then gets the first ones.
        """
        # The requests that the other process has, or may get when it starts, by number.
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
                self._give_back_all_but(IN_FLIGHT, pending)
                self._start(list(pending.values()))
            self._await_answer(pending)
        while self._process and pending:
            self._await_answer(pending)

    def _give_back_all_but(self, count: int, pending: dict[int, Request]) -> None:
        """Leave all but the first pending releases to this process, which comes to them soonest."""
        while len(pending) > count:
            number, _ = pending.popitem()
            self._is_back[number].set()

    def _next(self) -> Request | None:
        """Take the last release that is free; None if there is nothing to learn of it."""
        try:
            number, _ = self._free.popitem()
        except KeyError:
            return None  # the other threads of this process were faster
        request = None
        with suppress(UpstreamError):
            request = self._request(number)
        if request is None:
            self._is_back[number].set()
        return request

    def _request(self, number: int) -> Request | None:
        """Make the request for a release; None if there is nothing that could be requested."""
        checked = self._releases[number]
        on_index = checked.release
        if on_index is None or on_index.library.cache.directory is None:
            return None  # no other process could open it, or give back what it learns
        targets = [str(target) for target in checked.unknown(self._targets_of(checked))]
        if not targets:
            return None
        return Request(
            number, on_index.project, on_index.version, on_index.link, targets
        )

    def _start(self, requests: Sequence[Request]) -> None:
        """Start the other process with its first requests."""
        checked = self._releases[requests[0].number]
        assert checked.release
        assert checked.store
        library = checked.release.library
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
        self._send(Task(cache, library.settings, library.offline, checked.store.brief))
        for request in requests:
            self._send(request)

    def _send(self, message: Task | Request) -> None:
        assert self._process
        print(json.dumps(message), file=self._process.stdin, flush=True)

    def _await_answer(self, pending: dict[int, Request]) -> None:
        """Wait until one of the pending releases is done; show notices that come meanwhile."""
        assert self._process
        assert self._process.stdout
        lines = self._process.stdout
        # '' if the process is gone: an error.
        answer = Answer(*json.loads(lines.readline()))
        while answer.number is None:
            self._notify(answer.notice)
            answer = Answer(*json.loads(lines.readline()))
        del pending[answer.number]  # an error if it was not requested
        self._releases[answer.number].recall()
        self._learnt.add(answer.number)
        self._is_back[answer.number].set()

    def _end(self, *, at_once: bool) -> None:
        """End the other process, if there is one: when it has written everything, or at once."""
        if self._process is None:
            return
        if at_once:
            self._process.kill()
        self._process.communicate()


def _has_core() -> bool:
    """Whether another process would run at the same time, and not in turns with this one."""
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity:
        return len(affinity(0)) > 1
    return (os.cpu_count() or 1) > 1
