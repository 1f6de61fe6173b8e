"""Caches facts about targets, for the next run and for releases with the same files."""

import functools
import hashlib
import json
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from patchkit.analysis import upstream, uses
from patchkit.analysis.check.shared_scan import SharedScan
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.files import Files, ParsedFiles, Question
from patchkit.core.rows.target import Target

_PARSED_BYTES = 3 << 20
"""How many bytes of source stay parsed, of all releases together."""
_PARSED_BYTES_OF_FEW = 8 << 20
"""How many while few targets are looked up, whose facts leave room.

Large modules that all others import, as in transformers, stay parsed for neighbouring releases:
with 6 MB, 60 rows on 213 of its releases took 72 s of CPU in place of 100.
"""
_FEW_TARGETS = 250
_FETCHING = 3
"""How many releases fetch files at once: the one that is looked into, and the next two."""

_Answer = tuple[Question, str]
"""A question about the files of a release, such as which checksum a file has, and its answer."""
_Evidence = tuple[_Answer, ...]
"""All questions that were asked to find the facts of a target, with their answers."""
_Conclusions = dict[_Evidence, Facts]
"""The facts of one target in several releases, by the evidence for them."""


class _Stored(NamedTuple):
    """The facts of one target in one release, as they were read from the cache.

    Args:
        target: the target.
        data: the facts as JSON had them.
        facts: the facts.
    """

    target: Target
    data: dict[str, Any]
    facts: Facts


class FactStore:
    """Facts and moves of targets in a cache; safe for threads.

    Facts follow from the files that were read for them. They are stored with these files' paths,
    sizes and checksums as evidence, and hold for every release that has the same files.

    Args:
        cache: the cache.
        brief: whether facts leave sources out, which take the most time.
    """

    def __init__(self, cache: Cache, *, brief: bool = False) -> None:
        self.brief = brief
        self.parsed = ParsedFiles(_PARSED_BYTES)
        # Acquired to fetch files of a release.
        self.fetching = threading.BoundedSemaphore(_FETCHING)
        # Those that look targets up in a release take turns, while others fetch files.
        self.scan = SharedScan()
        self.cache = cache
        self._prefix = "brief " if brief else ""
        self._most_targets = 0
        self._lock = threading.Lock()
        self._concluded: dict[Target, _Conclusions] = {}
        self._unwritten: set[Target] = set()
        self._answers: dict[_Answer, _Answer] = {}  # one object for equal answers
        # By the text of a target: its facts in the release that was read last.
        self._last_read: dict[str, _Stored] = {}

    def expect(self, targets: int) -> None:
        """Choose how much source stays parsed: the fewer the targets, the more.

        Args:
            targets: How many are looked up in a release.
        """
        # A check of many rows asks for single targets, too.
        self._most_targets = max(targets, self._most_targets)
        is_few = self._most_targets <= _FEW_TARGETS
        self.parsed.limit = _PARSED_BYTES_OF_FEW if is_few else _PARSED_BYTES

    def facts(self, key: str) -> dict[Target, Facts]:
        """Read the facts of a release from the cache.

        Most targets are the same in neighbouring releases. To save memory, equal facts that are
        read one after the other are one object.

        Args:
            key: the key of the release's facts.

        Returns:
            The facts by target; {} if there are none.
        """
        facts_by_target: dict[Target, Facts] = {}
        for text, data in (self.get("facts", key) or {}).items():
            last = self._last_read.get(text)
            if last is None or last.data != data:
                last = _Stored(Target.parse(text), data, Facts.of_data(data))
                self._last_read[text] = last
            facts_by_target[last.target] = last.facts
        return facts_by_target

    def concluded(self, target: Target, files: Files) -> Facts | None:
        """Return the facts of a target that were found from the same files as a release has.

        Args:
            target: the target.
            files: the files of the release.

        Returns:
            The facts; None if no evidence agrees with the files.
        """
        with self._lock:
            if target not in self._concluded:
                self._concluded[target] = self._read(target)
            conclusions = list(self._concluded[target].items())
        # The last one is likeliest to agree: it was mostly found in a neighbouring release.
        for evidence, facts in reversed(conclusions):
            if all(files.answer(question) == answer for question, answer in evidence):
                return facts
        return None

    def keep_conclusion(
        self, target: Target, answers: Mapping[Question, str], facts: Facts
    ) -> None:
        """Remember the facts of a target; `keep_conclusions` writes them to the cache.

        Args:
            target: the target.
            answers: all questions that were asked of the files to find the facts, with answers.
            facts: the facts.
        """
        with self._lock:
            # Most releases give the same answers. To save memory, equal ones share one object.
            evidence = tuple(
                self._answers.setdefault(answer, answer) for answer in answers.items()
            )
            conclusions = self._concluded.setdefault(target, {})
            conclusions[evidence] = facts
            self._unwritten.add(target)

    def keep_conclusions(self, *, merge: bool = False) -> None:
        """Write what was remembered since the last time to the cache.

        Args:
            merge: whether another process may have written meanwhile, which is to be preserved.
        """
        with self._lock:
            unwritten: dict[Target, _Conclusions] = {}
            for target in self._unwritten:
                unwritten[target] = self._concluded[target].copy()
            self._unwritten.clear()
        for target, conclusions in unwritten.items():
            merged = conclusions
            if merge:
                merged = self._read(target) | conclusions
            rows = [
                _conclusion_data(evidence, facts) for evidence, facts in merged.items()
            ]
            self.put("conclusions", str(target), rows)

    def _read(self, target: Target) -> _Conclusions:
        """Read the conclusions about a target from the cache; {} if there are none."""
        rows = self.get("conclusions", str(target)) or ()
        conclusions: _Conclusions = {}
        for answers, data in rows:
            evidence = _evidence(answers)
            conclusions[evidence] = Facts.of_data(data)
        return conclusions

    def get(self, topic: str, key: str) -> Any:
        """Return what is stored on a topic, as JSON has it; None where nothing is.

        Args:
            topic: the topic, such as `moves`.
            key: the key that it is stored by.
        """
        name = self._name(topic, key)
        stored = self.cache.get(name)
        if stored is None:
            return None
        return json.loads(stored)

    def put(self, topic: str, key: str, data: object) -> None:
        """Store plain data, as JSON can have it.

        Args:
            topic: the topic, such as `moves`.
            key: the key to store it by.
            data: the data.
        """
        content = json.dumps(data).encode()
        name = self._name(topic, key)
        self.cache.put(name, content)

    def _name(self, topic: str, key: str) -> str:
        version = _code_version()
        return f"{self._prefix}{topic} {version} {key}"


def _conclusion_data(evidence: _Evidence, facts: Facts) -> tuple[object, object]:
    """Return a conclusion as JSON can store it; `_evidence` and `Facts.of_data` read it."""
    answers = [(*question, answer) for question, answer in evidence]
    return answers, facts.as_data()


def _evidence(answers: Iterable[Sequence[str]]) -> _Evidence:
    """Read the evidence that `_conclusion_data` has written.

    Each answer is stored as the kind and the path of the question, and the text of the answer.
    """
    evidence = []
    for kind, path, answer in answers:
        question = Question(kind, path)
        evidence.append((question, answer))
    return tuple(evidence)


@functools.cache
def _code_version() -> str:
    """Hash the code that finds facts, so that facts which another version has stored are not used.

    It is a part of the key: see `FactStore._name`.
    """
    digest = hashlib.sha256()
    for folder in (*upstream.__path__, *uses.__path__):
        files = Path(folder).rglob("*.py")
        for file in sorted(files):
            content = file.read_bytes()
            digest.update(content)
    # What these find is stored too, and they are in neither of these packages.
    for name in ("late_attributes.py", "similar_names.py"):
        module = Path(__file__).with_name(name)
        digest.update(module.read_bytes())
    major, minor = sys.version_info[:2]
    code_hash = digest.hexdigest()[:16]
    return f"{major}.{minor} {code_hash}"
