"""Run the second process: look targets up in the releases that stdin names, into the cache.

The first line of stdin is a `Task`, and each further line a `Request`. Each line of stdout is an
`Answer`. What the first process does not find in the cache after an answer, it learns itself, and
so meets every error where it is reported. When stdin ends, what was concluded is written to the
cache, and the program ends.
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

IN_FLIGHT = 4
"""How many requests may be open: one release is looked into while files of others are fetched."""


class Task(NamedTuple):
    """How to learn releases.

    Args:
        cache: The folder of the cache.
        settings: Where the indexes are, as pip is told.
        offline: Whether nothing is fetched.
        brief: Whether facts leave sources out.
    """

    cache: str
    settings: PipSettings
    offline: bool
    brief: bool


class Request(NamedTuple):
    """A release, and what to look up in it.

    Args:
        number: What the answer calls the request.
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
    """The end of work on a release, whether it was learnt or not, or a notice for the user.

    Args:
        number: The number of the request; None with a notice.
        notice: The text of the notice.
    """

    number: int | None
    notice: str = ""


class _Learner:
    """Learns releases in several threads, and writes answers."""

    def __init__(self, task: Task) -> None:
        self._lock = threading.Lock()
        cache = Cache(Path(task.cache), self._notify)
        settings = PipSettings(*task.settings)
        self._library = Library(
            settings, cache, offline=task.offline, notice=self._notify
        )
        self.store = FactStore(cache, brief=task.brief)

    def learn(self, request: Request) -> None:
        """Look targets up in a release, and answer; what fails is left to the first process."""
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
    """Learn the releases that stdin names, until it ends."""
    gc.disable()  # as in the first process, where releases are learnt
    task: Any = json.loads(sys.stdin.readline())
    learner = _Learner(Task(*task))
    with ThreadPoolExecutor(IN_FLIGHT) as threads:
        for line in sys.stdin:
            threads.submit(learner.learn, Request(*json.loads(line)))
    learner.store.keep_conclusions(merge=True)
    os._exit(0)  # giving back the memory of all that is parsed would take a second
