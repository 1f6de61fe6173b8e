"""The program of the second process: looks targets up in releases, and writes facts to the cache.

The first line of stdin is a `Task`, and each further line a `Request`. Each line of stdout is an
`Answer`. Errors are not sent: the first process looks up itself what it does not find in the cache
after an answer, meets the error again, and reports it. When stdin ends, all conclusions are written
to the cache, and the program ends.
"""

import gc
import json
import os
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from patchkit.analysis.check.fact_store import FactStore
from patchkit.analysis.check.opening import of_release
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.index import Link
from patchkit.analysis.upstream.reading.releases import Library, Release
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.core.rows.target import Target

IN_FLIGHT = 8
"""How many requests are worked on at once: one looks targets up while the others fetch files.

A file that several of their releases share is parsed once.
"""


class Task(NamedTuple):
    """What the second process is told before its first request.

    Args:
        cache: The folder of the cache.
        settings: The indexes, from pip's configuration.
        offline: Whether nothing may be fetched.
        brief: Whether facts leave sources out.
    """

    cache: str
    settings: PipSettings
    offline: bool
    brief: bool


class Request(NamedTuple):
    """A release, and what to look up in it.

    Args:
        number: The number of the request, by which the answer refers to it.
        project: The distribution.
        version: Its version.
        link: Its file on the index.
        targets: The targets.
    """

    number: int
    project: str
    version: str
    link: Link
    targets: Iterable[str]


class Answer(NamedTuple):
    """Either says that the work on a release has ended, with or without success, or is a notice.

    A notice is for the user: an index cannot be reached, for example.

    Args:
        number: The number of the request; None with a notice.
        notice: The text of the notice.
    """

    number: int | None
    notice: str = ""


class _Learner:
    """Looks targets up in releases, in several threads at a time, and writes answers."""

    def __init__(self, task: Task) -> None:
        self._lock = threading.Lock()
        cache = Cache(Path(task.cache), self._notify)
        settings = PipSettings(*task.settings)
        self._library = Library(
            settings, cache, offline=task.offline, notice=self._notify
        )
        self.store = FactStore(cache, brief=task.brief)

    def learn(self, request: Request) -> None:
        """Look targets up in a release, and answer.

        Errors are dropped: the first process meets them again when it looks the targets up itself.
        """
        with suppress(Exception):
            link = Link(*request.link)
            release = Release(request.project, request.version, link, self._library)
            checked = of_release(release, self.store)
            checked.learn(map(Target.parse, request.targets))
            checked.forget_sources()
        self._answer(Answer(request.number))

    def _notify(self, text: str) -> None:
        self._answer(Answer(None, text))

    def _answer(self, answer: Answer) -> None:
        with self._lock:
            print(json.dumps(answer), flush=True)


def main() -> None:
    """Look targets up in the releases that stdin names, until stdin ends."""
    gc.disable()  # `no_collection` says why
    task: Any = json.loads(sys.stdin.readline())
    learner = _Learner(Task(*task))
    with ThreadPoolExecutor(IN_FLIGHT) as threads:
        for line in sys.stdin:
            threads.submit(learner.learn, Request(*json.loads(line)))
    learner.store.keep_conclusions(merge=True)
    os._exit(0)  # a normal exit would take a second to free the memory of syntax trees
