"""The program of the second process: learn the releases that stdin names, into the cache.

The first line of stdin says how (`Task`), each further line names a release (`Request`). A line on
stdout says when one is done, learnt or not (`Answer`). What the first process does not find in the
cache then, it learns itself, and so meets every error where it is reported. When stdin ends, what
was concluded is written down, and the program ends.
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

from patchkit.analysis.check.opening import of_release
from patchkit.analysis.check.releases import FactStore
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.index import Link
from patchkit.analysis.upstream.reading.releases import Library, Release
from patchkit.analysis.upstream.reading.settings import PipSettings
from patchkit.core.rows.target import Target

IN_FLIGHT = 4
"""How many releases it is given at a time: one is looked into while files of others are fetched."""


class Task(NamedTuple):
    """How to learn releases."""

    cache: str  # the folder
    settings: PipSettings
    offline: bool
    brief: bool  # whether sources are left out


class Request(NamedTuple):
    """A release, and what to look up in it."""

    number: int  # what the answer calls it
    project: str
    version: str
    link: Link
    targets: Iterable[str]


class Answer(NamedTuple):
    """A release that is done with, or a notice for the user."""

    number: int | None
    notice: str = ""


class _Learner:
    def __init__(self, task: Task) -> None:
        self._lock = threading.Lock()
        cache = Cache(Path(task.cache), self._notify)
        settings = PipSettings(*task.settings)
        self._library = Library(settings, cache, offline=task.offline, notice=self._notify)
        self.kept = FactStore(cache, brief=task.brief)

    def learn(self, request: Request) -> None:
        """Look a release up, and answer; what fails is left to the first process."""
        with suppress(Exception):
            link = Link(*request.link)
            release = Release(request.project, request.version, link, self._library)
            subject = of_release(release, self.kept)
            subject.learn(map(Target.parse, request.targets))
            subject.rest()
        self._answer(Answer(request.number))

    def _notify(self, text: str) -> None:
        self._answer(Answer(None, text))

    def _answer(self, answer: Answer) -> None:
        with self._lock:
            print(json.dumps(answer), flush=True)


def main() -> None:
    """Learn what stdin asks for, until it ends."""
    gc.disable()  # as in the first process, where releases are learnt
    task: Any = json.loads(sys.stdin.readline())
    learner = _Learner(Task(*task))
    with ThreadPoolExecutor(IN_FLIGHT) as threads:
        for line in sys.stdin:
            threads.submit(learner.learn, Request(*json.loads(line)))
    learner.kept.keep_conclusions(merge=True)
    os._exit(0)  # giving back the memory of all that is parsed would take a second
