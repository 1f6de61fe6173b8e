"""
Where a target went that a release no longer has: found by name, and by likeness of the source.

Files are searched as bytes first, and only those are parsed that hold the name, or the rarest
words of the old source.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from patchkit.target import Item, Target
from patchkit.upstream.fingerprint import canonical
from patchkit.upstream.module_tree import module_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.upstream.module_tree import Modules
    from patchkit.upstream.resolve import Resolution
    from patchkit.upstream.source import Source

_SHINGLE = 4
_RARE = 6
_ENOUGH = 0.4
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_WORD = re.compile(rb"[A-Za-z_]\w{5,}")


@dataclass(frozen=True)
class Candidate:
    """
    A place where a missing target may be now.

    Args:
        target: the place.
        score: from 0 to 1.
        likeness: of the source alone; None where the old source is not known.
        words: what happened, for people.

    """

    target: Target
    score: float
    likeness: float | None
    words: str


class _Found(NamedTuple):
    module: str
    qualname: str
    node: ast.AST


def whereabouts(
    modules: Modules, target: Target, old: Resolution | None = None, limit: int = 3
) -> tuple[Candidate, ...]:
    """
    Find where a missing target went.

    Args:
        modules: of the release that lacks it.
        target: what is missing.
        old: what it was in a release that had it; without it, names alone decide.
        limit: how many candidates, at most.

    Returns:
        The candidates, best first; none where nothing is like it.

    """
    search = _Search(modules, target, old)
    near = _ranked(search, search.near())
    if any(one.target.qualname == target.qualname for one in near):
        return near[:limit]  # a module that moved whole: no need to read the release
    return _ranked(search, search.everywhere())[:limit]


def _ranked(search: _Search, paths: Iterable[tuple[Source, str]]) -> tuple[Candidate, ...]:
    judged = (search.judge(each) for each in search.candidates(paths))
    found = {one.target: one for one in judged if one.score >= _ENOUGH}
    return tuple(sorted(found.values(), key=lambda one: (-one.score, str(one.target))))


class _Search:
    """
    One search through a release.

    Args:
        modules: the release's.
        target: what is missing.
        old: what it was.

    """

    def __init__(self, modules: Modules, target: Target, old: Resolution | None) -> None:
        self._modules = modules
        self._target = target
        names = (
            [one for one in target.steps if not isinstance(one, Item)] if target.qualname else []
        )
        self._names = [str(name) for name in names]
        self._old = [one for one in (old.nodes if old else ()) if isinstance(one, _DEFS)][:1]
        self._shingles = _shingles(self._old[0]) if self._old else frozenset()
        self._source = old.source.encode() if old and self._old else b""

    def near(self) -> list[tuple[Source, str]]:
        """List the files that are named like the target's module."""
        last = self._target.module.rpartition(".")[2]
        return [
            (source, path)
            for source, path in self._modules.all_paths()
            if module_name(path).rpartition(".")[2] == last
        ]

    def everywhere(self) -> list[tuple[Source, str]]:
        """List all files."""
        return list(self._modules.all_paths())

    def candidates(self, paths: Iterable[tuple[Source, str]]) -> Iterator[_Found]:
        """List definitions of the name, and those whose files share the old source's words."""
        paths = list(paths)
        if not self._names:
            yield from (
                _Found(module_name(path), "", ast.Module([], [])) for _, path in self.near()
            )
            return
        named = re.compile(_DEFINES % re.escape(self._names[-1].encode()), re.MULTILINE)
        texts = self._texts(paths)
        rare = _rarest(self._source, texts.values())
        for path, text in texts.items():
            shares = sum(word in text for word in rare)
            if named.search(text) or (rare and shares * 2 >= len(rare)):
                yield from self._definitions(module_name(path))

    def judge(self, found: _Found) -> Candidate:
        """Score a candidate."""
        target = Target(found.module, found.qualname)
        name = self._name_score(found)
        likeness = _similar(self._shingles, _shingles(found.node)) if self._shingles else None
        if likeness is None:
            score = 0.7 * name + 0.1 * self._nearness(found.module)
        else:
            score = 0.6 * likeness + 0.35 * name + 0.05 * self._nearness(found.module)
        return Candidate(target, round(score, 3), likeness, self._words(found, likeness))

    def _texts(self, paths: Sequence[tuple[Source, str]]) -> dict[str, bytes]:
        for source in self._modules.sources:
            source.prefetch([path for of, path in paths if of is source])
        read = ((path, source.read(path)) for source, path in paths)
        return {path: text for path, text in read if text is not None}

    def _definitions(self, module: str) -> Iterator[_Found]:
        tree = self._modules.get(module)
        if tree is None:
            return
        for qualname, node in _defined(tree.body, ""):
            if isinstance(node, ast.ClassDef) is self._is_class() or not self._old:
                yield _Found(module, qualname, node)

    def _is_class(self) -> bool:
        return bool(self._old) and isinstance(self._old[0], ast.ClassDef)

    def _name_score(self, found: _Found) -> float:
        if found.qualname == self._target.qualname:
            return 1.0
        last = found.qualname.rpartition(".")[2]
        if last == self._names[-1]:
            return 0.6
        return 0.5 * SequenceMatcher(None, last, self._names[-1]).ratio()

    def _nearness(self, module: str) -> float:
        ours, theirs = self._target.module.split("."), module.split(".")
        shared = len(set(ours) & set(theirs))
        return shared / max(len(ours), len(theirs))

    def _words(self, found: _Found, likeness: float | None) -> str:
        place = f"{found.module}:{found.qualname}" if found.qualname else found.module
        moved = found.module != self._target.module
        renamed = found.qualname != self._target.qualname
        what = (
            "moved and renamed to" if moved and renamed else "renamed to" if renamed else "moved to"
        )
        if likeness is None:
            return f"{what} {place}, by its name"
        return f"{what} {place}, {likeness:.0%} alike"


_DEFINES = rb"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+%s\b"


def likeness_of(one: ast.AST, other: ast.AST) -> float:
    """Tell from 0 to 1 how alike two definitions are, whatever their names."""
    return _similar(_shingles(one), _shingles(other))


def _defined(body: Iterable[ast.stmt], around: str) -> Iterator[tuple[str, ast.AST]]:
    for one in body:
        if isinstance(one, _DEFS):
            qualname = f"{around}.{one.name}" if around else one.name
            yield qualname, one
            if isinstance(one, ast.ClassDef):
                yield from _defined(one.body, qualname)
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _defined(getattr(one, field, ()), around)
        for handler in getattr(one, "handlers", ()):
            yield from _defined(handler.body, around)


def _shingles(node: ast.AST) -> frozenset[int]:
    words = list(canonical(node, named=False))
    return frozenset(
        hash(tuple(words[at : at + _SHINGLE])) for at in range(max(1, len(words) - _SHINGLE + 1))
    )


def _similar(one: frozenset[int], other: frozenset[int]) -> float:
    return round(len(one & other) / len(one | other), 3) if one or other else 1.0


def _rarest(source: bytes, texts: Iterable[bytes]) -> Sequence[bytes]:
    """Pick the words of a source that the fewest files hold, of those that any does."""
    words = set(_WORD.findall(source))
    if not words:
        return ()
    counts = dict.fromkeys(words, 0)
    longest = sorted(words, key=lambda word: (-len(word), word))[:40]
    whole = list(texts)
    for word in longest:
        counts[word] = sum(word in text for text in whole)
    known = [word for word in longest if counts[word]]
    return sorted(known, key=lambda word: (counts[word], word))[:_RARE]
