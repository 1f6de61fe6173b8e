"""Runs a second process that looks targets up in a share of many releases.

Most of a first check is spent on parsing, and only one thread of a process runs Python at a time.
So a second process on another core takes a share of the releases.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, suppress
from types import TracebackType

from patchkit.analysis.check import learner
from patchkit.analysis.check.learner import IN_FLIGHT, Answer, Request, Task
from patchkit.analysis.check.release_shares import ReleaseShares
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.parallel import PATIENCE
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

_CODE = "import sys; sys.path[:] = sys.argv[1:]; from {} import main; main()"
"""The program of the other process, whose arguments are the `sys.path` of this one."""
_WORTHWHILE = 8
"""How many unknown releases make it worthwhile to start the other process, which takes 0.5 s."""


class SecondProcess(AbstractContextManager["SecondProcess"]):
    """Lets another process look targets up in releases, from the last release backwards.

    This process goes forwards from the first, and enters `turn` for each. The other process is
    started once there are enough unknown releases, if there is a core for it. It writes facts to
    the cache, and reports no errors: what it did not find, for whatever reason, this process looks
    up itself.

    A thread of this process takes releases from the end of the list, sends them to the other
    process, and waits for its answers.

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
        self._shares = ReleaseShares(len(releases))
        # The numbers of the releases that `ahead` counts.
        self._learnt: set[int] = set()
        self._notify: Callable[[str], None] = print  # `_start` sets that of the library
        self._process: subprocess.Popen[str] | None = None
        self._is_cancelled = False
        self._thread = threading.Thread(
            target=self._run, name="patchkit-second-process"
        )

    def __enter__(self) -> "SecondProcess":
        """Start the thread, which hands out releases."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the other process: at once after an error, else when it has written everything."""
        if kind is None:
            self._thread.join()
            return
        self._is_cancelled = True
        self._shares.close(
            abandon=True
        )  # so that the thread hands out no more releases
        if self._process:
            self._process.kill()
        if issubclass(kind, Exception):
            self._thread.join()
            return
        # After an interruption, the thread may be waiting for a server.
        self._thread.join(PATIENCE)

    @property
    def ahead(self) -> int:
        """How many releases the other process is done with that this one has not come to yet."""
        return len(self._learnt)

    @contextmanager
    def turn(self, release: CheckedRelease) -> Iterator[None]:
        """Look into a release in this process, once the other one is done with it or has not begun.

        Args:
            release: One of the releases.

        Yields:
            Nothing.

        Raises:
            CancelledError: An error has ended the work meanwhile.
        """
        number = self._numbers[release]
        has_begun = self._shares.begin(number)
        self._learnt.discard(number)
        if self._is_cancelled:
            raise CancelledError
        try:
            yield
        finally:
            if has_begun:
                self._shares.finish(number)

    def _run(self) -> None:
        """Hand out releases, and end the other process; the thread runs this."""
        is_handed_out = False
        try:
            # If a release cannot be read, other threads meet the same error, and report it. If the
            # other process has failed, they look targets up themselves.
            with suppress(Exception):
                if _has_core():
                    self._hand_out()
                is_handed_out = True
            self._end(at_once=not is_handed_out)
        finally:
            self._shares.close()

    def _hand_out(self) -> None:
        """Request free releases from the other process, and wait for its answers.

        The first requests are collected until there are enough of them to start the process.
        """
        # The requests without an answer, by number.
        pending: dict[int, Request] = {}
        while True:
            is_idle = self._process is None or not pending
            number = self._shares.take_last(is_idle=is_idle)
            if number is not None:
                self._request(number, pending)
            elif is_idle:
                return  # nothing is left; without a process, this one looks into the collected ones
            if self._process and (number is None or len(pending) == IN_FLIGHT):
                # Each answer makes room for a request.
                self._await_answer(pending)

    def _request(self, number: int, pending: dict[int, Request]) -> None:
        """Request a release from the other process, which is started once that is worthwhile.

        Args:
            number: The number of the release.
            pending: The requests without an answer, to which this one is added.
        """
        request = self._request_for(number)
        if request is None:
            self._shares.answer(number)
            return
        pending[number] = request
        if self._process:
            self._send(request)
        elif len(pending) == _WORTHWHILE:
            half = (len(pending) + self._shares.left + 1) // 2
            self._give_back_all_but(min(half, IN_FLIGHT), pending)
            self._start(list(pending.values()))

    def _give_back_all_but(self, count: int, pending: dict[int, Request]) -> None:
        """Leave all but some pending releases to this process: those that it comes to soonest.

        The first ones in `pending`, which are the last of all, stay for the other process.
        """
        while len(pending) > count:
            number, _ = pending.popitem()
            self._shares.answer(number)

    def _request_for(self, number: int) -> Request | None:
        """Make the request for a release; None if the other process cannot help with it."""
        checked = self._releases[number]
        on_index = checked.release
        if on_index is None or on_index.library.cache.directory is None:
            return None  # the other process could not open it, or not write its facts
        try:
            unknown = checked.unknown(self._targets_of(checked))
        except UpstreamError:
            return None  # this process meets the error again, and reports it
        targets = [str(target) for target in unknown]
        if not targets:
            return None
        return Request(
            number, on_index.project, on_index.version, on_index.link, targets
        )

    def _start(self, requests: Sequence[Request]) -> None:
        """Start the other process with its first requests."""
        # Any of the releases will do: all have the same index and cache, and the same `brief`.
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
        if self._is_cancelled:  # `__exit__` had no process to kill yet
            self._process.kill()
        self._send(Task(cache, library.settings, library.offline, checked.store.brief))
        for request in requests:
            self._send(request)

    def _send(self, message: Task | Request) -> None:
        assert self._process
        print(json.dumps(message), file=self._process.stdin, flush=True)

    def _await_answer(self, pending: dict[int, Request]) -> None:
        """Wait until one of the pending releases is done; show notices that come meanwhile.

        Raises:
            ValueError: The process has ended, or writes something else.
            KeyError: It answers what was not requested.
        """
        assert self._process
        assert self._process.stdout
        lines = self._process.stdout
        answer = Answer(*json.loads(lines.readline()))
        while answer.number is None:
            self._notify(answer.notice)
            answer = Answer(*json.loads(lines.readline()))
        del pending[answer.number]
        self._releases[answer.number].reload_facts()
        self._learnt.add(answer.number)
        self._shares.answer(answer.number)

    def _end(self, *, at_once: bool) -> None:
        """End the other process, if there is one: when it has written everything, or at once."""
        if self._process is None:
            return
        if at_once:
            self._process.kill()
        self._process.communicate()


def _has_core() -> bool:
    """Whether this process may use more than one core, so that another one runs beside it."""
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity:
        return len(affinity(0)) > 1
    return (os.cpu_count() or 1) > 1
