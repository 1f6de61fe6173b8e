"""What was said of targets before: by release, and by the content that it was concluded from."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchkit import upstream
from patchkit.rows.target import Target
from patchkit.upstream.facts import Facts
from patchkit.upstream.moves.whereabouts import Whereabouts
from patchkit.upstream.reading.files import ParsedFiles, Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.upstream.reading.cache import Cache
    from patchkit.upstream.reading.files import Files

_PARSED = 3 << 20
"""Bytes of source that stay parsed, of all releases together."""
_AHEAD = 3
"""Releases of which files are fetched at once: the one that is looked into, and the next."""

_Grounds = tuple[tuple[Question, str], ...]


class Kept:
    """
    Facts and moves in a cache; safe for threads.

    A file of the same path, size and checksum counts as the same file, whichever release it is in:
    what was concluded from such files is neither fetched nor concluded again.
    """

    def __init__(self, cache: Cache) -> None:
        self.parsed = ParsedFiles(_PARSED)
        self.ahead = threading.BoundedSemaphore(_AHEAD)
        """Who has one fetches what a release has other than the last."""
        self.turn = threading.Lock()
        """Who has it looks up what a release has; the others fetch meanwhile."""
        self.cache = cache
        self._lock = threading.Lock()
        self._concluded: dict[Target, dict[_Grounds, Facts]] = {}
        self._new: set[Target] = set()
        self._answers: dict[tuple[Question, str], tuple[Question, str]] = {}

    def of_release(self, key: str) -> dict[Target, Facts]:
        """Return what was said of a release."""
        known = self._get("facts", key) or {}
        return {Target.parse(text): Facts.of_data(data) for text, data in known.items()}

    def keep_release(self, key: str, known: Mapping[Target, Facts]) -> None:
        """Keep what is said of a release."""
        self._put("facts", key, {str(target): one.as_data() for target, one in known.items()})

    def concluded(self, target: Target, files: Files) -> Facts | None:
        """Return what was concluded of a target from the same files as a release has."""
        with self._lock:
            if target not in self._concluded:
                self._concluded[target] = self._recalled(target)
            known = list(self._concluded[target].items())
        for grounds, found in reversed(known):
            if all(files.answer(question) == answer for question, answer in grounds):
                return found
        return None

    def keep_conclusion(self, target: Target, asked: Mapping[Question, str], found: Facts) -> None:
        """Take note of a conclusion, and of all that was asked of the files for it."""
        with self._lock:
            grounds = tuple(self._answers.setdefault(one, one) for one in asked.items())
            self._concluded.setdefault(target, {})[grounds] = found
            self._new.add(target)

    def keep_conclusions(self) -> None:
        """Write down what was noted since the last time."""
        with self._lock:
            new = {target: [*self._concluded[target].items()] for target in self._new}
            self._new.clear()
        for target, known in new.items():
            rows = [
                ([(*asked, answer) for asked, answer in grounds], found.as_data())
                for grounds, found in known
            ]
            self._put("conclusions", str(target), rows)

    def move(self, key: str) -> Whereabouts | None:
        """Return what was said about a move, None where nothing was."""
        kept = self._get("moves", key)
        if kept is None:
            return None
        place, likeness, words = kept
        return Whereabouts(Target.parse(place) if place else None, likeness, words)

    def keep_moves(self, found: Mapping[str, Whereabouts]) -> None:
        """Keep what is said about moves."""
        for key, move in found.items():
            self._put("moves", key, (str(move.place or ""), move.likeness, move.words))

    def _recalled(self, target: Target) -> dict[_Grounds, Facts]:
        rows = self._get("conclusions", str(target)) or ()
        return {
            tuple((Question(kind, path), said) for kind, path, said in asked): Facts.of_data(one)
            for asked, one in rows
        }

    def _get(self, topic: str, key: str) -> Any:
        kept = self.cache.get(f"{topic} {_code()} {key}")
        return None if kept is None else json.loads(kept)

    def _put(self, topic: str, key: str, data: object) -> None:
        self.cache.put(f"{topic} {_code()} {key}", json.dumps(data).encode())


@functools.cache
def _code() -> str:
    """Tell the code apart that works out what is kept: another answer has another name."""
    whole = hashlib.sha256()
    for file in sorted(Path(upstream.__file__).parent.rglob("*.py")):
        whole.update(file.read_bytes())
    version = "{}.{}".format(*sys.version_info)
    return f"{version} {whole.hexdigest()[:16]}"
