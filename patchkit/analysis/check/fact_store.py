"""Stores what releases say of targets, for the next time and for releases with the same files."""

import functools
import hashlib
import json
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from patchkit.analysis import upstream, uses
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.files import Files, ParsedFiles, Question
from patchkit.core.rows.target import Target

_PARSED = 6 << 20
"""How many bytes of source stay parsed, of all releases together."""
_AHEAD = 3
"""Of how many releases files are fetched at once: the one looked into, and the next."""

_Answer = tuple[Question, str]
"""What was asked of the files of a release, and what they answered."""
_Grounds = tuple[_Answer, ...]
"""All that was asked for a conclusion."""
_Conclusions = dict[_Grounds, Facts]
"""What was concluded of a target, by what was asked for it."""


class FactStore:
    """Facts and moves in a cache; safe for threads.

    Files of the same path, size and checksum count as one, and lead to the same conclusions.

    Args:
        cache: the cache.
        brief: whether facts leave sources out, which take the most time.
    """

    def __init__(self, cache: Cache, *, brief: bool = False) -> None:
        self.brief = brief
        self.parsed = ParsedFiles(_PARSED)
        # To fetch what the last release had not.
        self.ahead = threading.BoundedSemaphore(_AHEAD)
        # To look up what a release has; the others fetch meanwhile.
        self.turn = threading.Lock()
        self.cache = cache
        self._prefix = "brief " if brief else ""
        self._lock = threading.Lock()
        self._concluded: dict[Target, _Conclusions] = {}
        self._new: set[Target] = set()
        self._answers: dict[_Answer, _Answer] = {}  # each once

    def concluded(self, target: Target, files: Files) -> Facts | None:
        """Return what was concluded of a target from the same files as a release has.

        Args:
            target: the target.
            files: the files of the release.

        Returns:
            The facts; None where other files were asked.
        """
        with self._lock:
            if target not in self._concluded:
                self._concluded[target] = self._recalled(target)
            conclusions = list(self._concluded[target].items())
        for grounds, facts in reversed(conclusions):
            have_answers = (
                files.answer(question) == answer for question, answer in grounds
            )
            if all(have_answers):
                return facts
        return None

    def keep_conclusion(
        self, target: Target, answers: Mapping[Question, str], facts: Facts
    ) -> None:
        """Take note of a conclusion.

        Args:
            target: the target.
            answers: what the files answered to all that was asked of them for it.
            facts: what was concluded.
        """
        with self._lock:
            grounds = tuple(
                self._answers.setdefault(pair, pair) for pair in answers.items()
            )
            conclusions = self._concluded.setdefault(target, {})
            conclusions[grounds] = facts
            self._new.add(target)

    def keep_conclusions(self, *, merge: bool = False) -> None:
        """Write down what was noted since the last time.

        Args:
            merge: whether to keep beside it what another process has written meanwhile.
        """
        with self._lock:
            new: dict[Target, _Conclusions] = {}
            for target in self._new:
                concluded = self._concluded[target]
                new[target] = concluded.copy()
            self._new.clear()
        for target, conclusions in new.items():
            written = conclusions
            if merge:
                recalled = self._recalled(target)
                written = recalled | conclusions
            rows = []
            for grounds, facts in written.items():
                conclusion = _conclusion_data(grounds, facts)
                rows.append(conclusion)
            self.put("conclusions", str(target), rows)

    def _recalled(self, target: Target) -> _Conclusions:
        rows = self.get("conclusions", str(target)) or ()
        conclusions: _Conclusions = {}
        for answers, data in rows:
            grounds = _grounds(answers)
            conclusions[grounds] = Facts.of_data(data)
        return conclusions

    def get(self, topic: str, key: str) -> Any:
        """Return what is stored on a topic, as JSON has it; None where nothing is.

        Args:
            topic: the topic, a word.
            key: what it is stored by.
        """
        name = self._name(topic, key)
        stored = self.cache.get(name)
        if stored is None:
            return None
        return json.loads(stored)

    def put(self, topic: str, key: str, data: object) -> None:
        """Store what JSON takes.

        Args:
            topic: the topic, a word.
            key: what to store it by.
            data: what to store.
        """
        content = json.dumps(data).encode()
        name = self._name(topic, key)
        self.cache.put(name, content)

    def _name(self, topic: str, key: str) -> str:
        code = _code()
        return f"{self._prefix}{topic} {code} {key}"


def _conclusion_data(grounds: _Grounds, facts: Facts) -> tuple[object, object]:
    """Write a conclusion as JSON has it: of each question its fields, then the answer."""
    answers = [(*question, answer) for question, answer in grounds]
    return answers, facts.as_data()


def _grounds(answers: Iterable[Sequence[str]]) -> _Grounds:
    grounds = []
    for kind, path, answer in answers:
        question = Question(kind, path)
        grounds.append((question, answer))
    return tuple(grounds)


@functools.cache
def _code() -> str:
    """Tell the code apart that works out what is stored: another answer has another name."""
    digest = hashlib.sha256()
    for folder in (*upstream.__path__, *uses.__path__):
        files = Path(folder).rglob("*.py")
        for file in sorted(files):
            content = file.read_bytes()
            digest.update(content)
    trails = Path(__file__).with_name("trails.py")
    digest.update(trails.read_bytes())
    major, minor = sys.version_info[:2]
    code_hash = digest.hexdigest()[:16]
    return f"{major}.{minor} {code_hash}"
