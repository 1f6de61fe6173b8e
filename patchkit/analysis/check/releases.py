"""The releases that are checked, each with what is known of targets; read once and kept."""

import functools
import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from patchkit.analysis import upstream, uses
from patchkit.analysis.upstream.facts import Facts, facts_of
from patchkit.analysis.upstream.moves.catalog import REACH
from patchkit.analysis.upstream.moves.whereabouts import MoveResult, MoveSearch
from patchkit.analysis.upstream.reading.cache import Cache
from patchkit.analysis.upstream.reading.files import Files, ParsedFiles, Question, ReleaseSource
from patchkit.analysis.upstream.reading.releases import Release
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical
from patchkit.errors import UpstreamError

_PARSED = 6 << 20  # bytes of source that stay parsed, of all releases together
_AHEAD = 3  # releases of which files are fetched at once: the one looked into, and the next

_Grounds = tuple[tuple[Question, str], ...]


@dataclass(eq=False)
class CheckedRelease:
    """One release; whatever reads it raises `UpstreamError` where that cannot be done."""

    name: str  # for messages, `vllm 0.32.0`
    project: str  # the distribution, canonicalized
    version: str
    opened: Callable[[], ReleaseSource]  # called when its files are asked for
    kept: "FactStore | None" = None  # None for what may change under it
    key: str = ""  # by which name its facts are kept
    is_local: bool = field(default=True, kw_only=True)  # whether all its files are at hand
    option: str = field(default="", kw_only=True)  # asks for it alone on a command line
    brief: bool = field(default=False, kw_only=True)  # whether its facts leave sources out
    release: Release | None = field(default=None, kw_only=True)  # for another process to open

    @functools.cached_property
    def source(self) -> ReleaseSource:
        """Its files."""
        return self.opened()

    @functools.cached_property
    def _facts(self) -> dict[Target, Facts]:
        known = self.kept.get("facts", self.key) if self.kept else None
        return {Target.parse(text): Facts.of_data(data) for text, data in (known or {}).items()}

    @functools.cached_property
    def resolver(self) -> Resolver:
        """Its modules, parsed as they are asked for."""
        return self._own_resolver()

    def rest(self) -> None:
        """Let go of parsed modules, and of the list of files where that is kept."""
        resolver = self.__dict__.pop("resolver", None)
        if resolver:
            resolver.modules.forget()
        if self.kept:
            self.__dict__.pop("source", None)

    def recall(self) -> None:
        """Read again what is kept of it, which another process has added to."""
        self.__dict__.pop("_facts", None)

    def covers(self, packages: Iterable[str]) -> frozenset[str]:
        """Say which of some import packages it holds."""
        wanted = set(packages)
        ours = {one for one in wanted if canonical(one) == self.project}
        if ours:
            return frozenset(ours)  # what a distribution is named after, it holds
        tops = {path.partition("/")[0].partition(".")[0] for path in self.source.paths()}
        return frozenset(wanted & tops)

    def learn(self, targets: Iterable[Target]) -> None:
        """Look targets up, all that are not known yet."""
        missing = self.unknown(targets)
        if missing and self.kept:
            self._conclude(missing, self.kept)
            return
        for one in missing:
            self._facts[one] = facts_of(self.resolver, one, brief=self.brief)

    def unknown(self, targets: Iterable[Target]) -> list[Target]:
        """List the targets that are not known yet."""
        return [one for one in dict.fromkeys(targets) if one not in self._facts]

    def facts(self, target: Target) -> Facts:
        """Say what a target is here."""
        if target not in self._facts:
            self.learn([target])
        return self._facts[target]

    def text(self, found: Facts) -> str:
        """Quote a target's definition, decorators included; '' where there is none."""
        return self._quoted(found.path, *found.lines) if found.path and found.lines else ""

    def whole_text(self, found: Facts) -> str:
        """Quote a target's definition, and the code that a call in it wraps."""
        parts = [self.text(found), *(self._quoted(*place) for place in found.wrapped)]
        return "\n".join(filter(None, parts))

    def _quoted(self, path: str, first: int, last: int) -> str:
        content = self.source.read(path) or b""
        # The lines of Python, which are fewer than those of str.splitlines.
        text = content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        lines = text.removeprefix("\ufeff").split("\n")[first - 1 : last]
        return "".join(f"{line}\n" for line in lines)

    def has(self, target: Target) -> bool:
        """Whether a target is there; False where the release cannot be read."""
        return self.state(target) == "present"

    def state(self, target: Target) -> str:
        """Say whether a target is there: as its facts do, or that the release is unreadable."""
        try:
            return self.facts(target).state
        except UpstreamError:
            return "unreadable"

    def moves(self, lost: "Sequence[tuple[Target, CheckedRelease | None]]") -> list[MoveResult]:
        """Find where targets went, each with a release that has it, None where none is known."""
        keys = {(one, old): f"{self.key} {old.key if old else '-'} {one}" for one, old in lost}
        kept, found = self.kept, dict[tuple[Target, CheckedRelease | None], MoveResult]()
        for one, key in keys.items() if kept else ():
            if kept and (known := kept.get("moves", key)):
                place, *more = known
                found[one] = MoveResult(Target.parse(place) if place else None, *more)
        for one, move in self._searched([one for one in lost if one not in found]):
            found[one] = move
            if kept:
                kept.put("moves", keys[one], (str(move.place or ""), move.likeness, move.words))
        return [found[one] for one in lost]

    def _searched(
        self, lost: "Sequence[tuple[Target, CheckedRelease | None]]"
    ) -> "Iterator[tuple[tuple[Target, CheckedRelease | None], MoveResult]]":
        for old in dict.fromkeys(old for _, old in lost):
            ours, theirs = self._own_resolver(), old._own_resolver() if old else None  # noqa: SLF001 - of this class
            search = MoveSearch(ours, theirs, None if self.is_local else REACH)
            yield from (((one, old), search.find(one)) for one, other in lost if other is old)
            for resolver in filter(None, (ours, theirs)):
                resolver.modules.forget()

    def _own_resolver(self) -> Resolver:
        parsed = self.kept.parsed if self.kept else None
        return Resolver(self.source, python=sys.version_info[:2], parsed=parsed)

    def _conclude(self, targets: Sequence[Target], kept: "FactStore") -> None:
        with kept.ahead:
            missing = self._not_concluded(targets, kept)
            with kept.turn:  # meanwhile, its neighbour may have been looked into
                self._look_up(self._not_concluded(missing, kept), kept)
                gone = (one for one in targets if self._facts[one].state == "absent")
                holders = self.unknown(one.holder for one in gone if one.qualname)
                self._look_up(self._not_concluded(holders, kept), kept)
        known = {str(target): one.as_data() for target, one in self._facts.items()}
        kept.put("facts", self.key, known)

    def _not_concluded(self, targets: Iterable[Target], kept: "FactStore") -> list[Target]:
        """Recall what was concluded from the same files; fetch those that tell of the rest."""
        files = self.resolver.modules.files
        known = {target: kept.concluded(target, files) for target in targets}
        self._facts.update((target, facts) for target, facts in known.items() if facts)
        missing = [target for target, facts in known.items() if not facts]
        if missing:
            files.prefetch_unparsed(path for target in missing for path in _paths(target))
        return missing

    def _look_up(self, missing: Iterable[Target], kept: "FactStore") -> None:
        for _, several in groupby(sorted(missing, key=str), lambda one: one.module):
            resolver = self.resolver.afresh()  # what it asks is asked for this module's targets
            for one in several:
                self._facts[one] = facts_of(resolver, one, brief=kept.brief)
                kept.keep_conclusion(one, resolver.modules.answers, self._facts[one])
            resolver.modules.forget()


def _paths(target: Target) -> Iterable[str]:
    parts = target.module.split(".")
    yield from ("/".join(parts[:end]) + "/__init__.py" for end in range(1, len(parts) + 1))
    yield "/".join(parts) + ".py"


class FactStore:
    """Facts and moves in a cache; safe for threads.

    Files of the same path, size and checksum count as one, and lead to the same conclusions.
    """

    def __init__(self, cache: Cache, *, brief: bool = False) -> None:
        self.brief = brief  # whether facts leave sources out, which take the most time
        self.parsed = ParsedFiles(_PARSED)
        self.ahead = threading.BoundedSemaphore(_AHEAD)  # to fetch what the last release had not
        self.turn = threading.Lock()  # to look up what a release has; the others fetch meanwhile
        self.cache = cache
        self._part = "brief " if brief else ""
        self._lock = threading.Lock()
        self._concluded: dict[Target, dict[_Grounds, Facts]] = {}
        self._new: set[Target] = set()
        self._answers: dict[tuple[Question, str], tuple[Question, str]] = {}

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

    def keep_conclusions(self, *, merge: bool = False) -> None:
        """Write down what was noted since the last time.

        Args:
            merge: whether to keep beside it what another process has written meanwhile.
        """
        with self._lock:
            new = {target: self._concluded[target].copy() for target in self._new}
            self._new.clear()
        for target, noted in new.items():
            known = [*({**self._recalled(target), **noted} if merge else noted).items()]
            rows = [
                ([(*asked, answer) for asked, answer in grounds], found.as_data())
                for grounds, found in known
            ]
            self.put("conclusions", str(target), rows)

    def _recalled(self, target: Target) -> dict[_Grounds, Facts]:
        rows = self.get("conclusions", str(target)) or ()
        return {
            tuple((Question(kind, path), said) for kind, path, said in asked): Facts.of_data(one)
            for asked, one in rows
        }

    def get(self, topic: str, key: str) -> Any:
        """Return what is kept on a topic, None where nothing is."""
        kept = self.cache.get(f"{self._part}{topic} {_code()} {key}")
        return None if kept is None else json.loads(kept)

    def put(self, topic: str, key: str, data: object) -> None:
        """Keep what JSON takes."""
        self.cache.put(f"{self._part}{topic} {_code()} {key}", json.dumps(data).encode())


@functools.cache
def _code() -> str:
    """Tell the code apart that works out what is kept: another answer has another name."""
    whole = hashlib.sha256()
    rooms = [*upstream.__path__, *uses.__path__]
    files = [one for room in rooms for one in sorted(Path(room).rglob("*.py"))]
    for file in (*files, Path(__file__).with_name("trails.py")):
        whole.update(file.read_bytes())
    version = "{}.{}".format(*sys.version_info)
    return f"{version} {whole.hexdigest()[:16]}"
