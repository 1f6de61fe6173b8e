"""What runs in another process that learns releases: it keeps in the cache what they say."""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit.check.kept import Kept
from patchkit.check.subjects import of_release
from patchkit.errors import UnreachableError, UpstreamError
from patchkit.rows.target import Target
from patchkit.upstream.reading.cache import Cache
from patchkit.upstream.reading.index import Link
from patchkit.upstream.reading.parallel import CONNECTIONS
from patchkit.upstream.reading.releases import Library, Release
from patchkit.upstream.reading.settings import PipSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.check.subjects import Subject


def main() -> None:
    """Learn what stdin asks for; end with it, whatever is left then."""
    gc.disable()
    directory, settings, offline = json.loads(sys.stdin.readline())
    learner = _Learner(Path(directory), PipSettings(*settings), offline=offline)
    workers = ThreadPoolExecutor(CONNECTIONS)
    asked = [workers.submit(learner.answer, *json.loads(line)) for line in sys.stdin]
    if len(asked) == learner.answered:
        learner.kept.keep_conclusions()
    os._exit(0)  # without giving its memory back first


class _Learner:
    def __init__(self, directory: Path, settings: PipSettings, *, offline: bool) -> None:
        cache = Cache(directory, self._notice)
        self.kept = Kept(cache)
        self.answered = 0
        self._library = Library(settings, cache, offline=offline, notice=self._notice)
        self._lock = threading.Lock()

    def answer(self, at: int, release: list[Any], targets: list[str]) -> None:
        """Learn a release, and say why it cannot be read, or ''."""
        try:
            project, version, link = release
            subject = of_release(Release(project, version, Link(*link), self._library), self.kept)
            self._tell(at, *_learnt(subject, map(Target.parse, targets)))
        except BaseException:  # noqa: BLE001 - the other process does it all, and says what is wrong
            os._exit(1)

    def _notice(self, text: str) -> None:
        self._tell(None, text, "")

    def _tell(self, at: int | None, words: str, cause: str) -> None:
        with self._lock:
            self.answered += at is not None
            sys.stdout.write(json.dumps((at, words, cause)) + "\n")
            sys.stdout.flush()


def _learnt(subject: Subject, targets: Iterable[Target]) -> tuple[str, str]:
    try:
        subject.learn(targets)
    except UpstreamError as error:
        cause = error.__cause__
        return str(error), str(cause) if isinstance(cause, UnreachableError) else ""
    finally:
        subject.rest()
    return "", ""
