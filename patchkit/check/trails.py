"""Where targets are in releases that lack them: followed from release to release, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchkit.check.learning import in_parallel, learn_all
from patchkit.check.near import meant
from patchkit.rows.declaration import Add, Provide

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchkit.check.coverage import Coverage
    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target
    from patchkit.upstream.moves.whereabouts import Whereabouts

_MOVES = 4
"""How many moves are followed one after another."""
_NAMED = 8
"""In how many releases to look for the name of what no release has: it may have come and gone."""


class _Edge(NamedTuple):
    """
    A release that lacks a target, next to one that knows where it is.

    Args:
        target: as it was asked for.
        known: the place of the release that knows; None where none does.
        unknown: that of the other.
        way: to where it goes on from there, 1 or -1.

    """

    target: Target
    known: int | None
    unknown: int
    way: int


class Trails:
    """
    Targets in the releases of one distribution.

    A search goes on only where a release that lacks a target meets one that has it. Beyond, the
    place that was found is looked up.

    Args:
        subjects: releases that can be read, the oldest first.
        targets: what to follow; all of it has been learnt.
        ways: 1 for later releases, -1 for earlier ones.
        by_name: whether to look for the name of what no release has.

    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        targets: Iterable[Target],
        ways: Sequence[int],
        *,
        by_name: bool = False,
    ) -> None:
        self._subjects = subjects
        self._ways = ways
        self._by_name = by_name
        self._known: dict[Target, dict[int, Target]] = {
            target: {at: target for at, one in enumerate(subjects) if one.has(target)}
            for target in targets
        }
        self._told: dict[tuple[Target, int], Whereabouts] = {}

    def follow(self) -> None:
        """Search, and go on from what was found."""
        if self._by_name:
            self._confirm([one for found in self._named() for one in _both_ways(*found)])
        for _ in range(_MOVES):
            edges = list(self._edges())
            if not edges:
                break
            self._confirm(list(self._searched(edges)))

    def told(self, target: Target, subject: Subject) -> Whereabouts | None:
        """Return what became of a target in a release; None where that was not asked."""
        return self._told.get((target, self._subjects.index(subject)))

    def _edges(self) -> Iterator[_Edge]:
        for target, known in self._known.items():
            for at in sorted(known):
                for way in self._ways:
                    if self._is_open(target, at + way):
                        yield _Edge(target, at, at + way, way)

    def _named(self) -> Iterator[tuple[_Edge, Whereabouts]]:
        """Look for names that no release has: in the newest, and what is in a module before it."""
        count = len(self._subjects)
        places = range(count - 1, -1, -max(1, -(-count // _NAMED)))
        unknown = [target for target, known in self._known.items() if not known]
        edges = (
            _Edge(target, None, at, -1)
            for at in places
            for target in unknown
            if (target.qualname or at == count - 1) and self._is_open(target, at)
        )
        return (one for one in self._searched(edges) if one[1].place)

    def _is_open(self, target: Target, at: int) -> bool:
        if not 0 <= at < len(self._subjects) or (target, at) in self._told:
            return False
        return self._subjects[at].lacks(target)

    def _is_unplaced(self, target: Target, at: int) -> bool:
        told = self._told.get((target, at))
        return self._is_open(target, at) if told is None else told.place is None

    def _searched(self, edges: Iterable[_Edge]) -> Iterator[tuple[_Edge, Whereabouts]]:
        """Search each release once for all that it lacks, several releases at a time."""
        jobs: dict[int, list[_Edge]] = {}
        for edge in edges:
            jobs.setdefault(edge.unknown, []).append(edge)
        several = [self._subjects[at] for at in jobs]
        by_name = {self._subjects[at].name: found for at, found in jobs.items()}
        results = in_parallel(several, lambda one: self._search(one, by_name[one.name]))
        for subject in several:
            found = results[subject.name]
            if isinstance(found, list):
                yield from zip(by_name[subject.name], found, strict=True)

    def _search(self, subject: Subject, edges: Sequence[_Edge]) -> list[Whereabouts]:
        return subject.moves([self._asked(one) for one in edges])

    def _asked(self, edge: _Edge) -> tuple[Target, Subject | None]:
        if edge.known is None:
            return edge.target, None
        return self._known[edge.target][edge.known], self._subjects[edge.known]

    def _confirm(self, found: Sequence[tuple[_Edge, Whereabouts]]) -> None:
        """Look found places up in the releases beyond, as far as they are there."""
        spans = [(edge, answer, self._beyond(edge)) for edge, answer in found]
        wanted: dict[str, set[Target]] = {}
        for _, answer, span in spans:
            for at in span if answer.place else ():
                assert answer.place is not None
                wanted.setdefault(self._subjects[at].name, set()).add(answer.place)
        several = [one for one in self._subjects if one.name in wanted]
        faults = learn_all(several, lambda one: wanted[one.name])
        for edge, answer, span in spans:
            self._settle(edge, answer, span, faults)

    def _settle(
        self, edge: _Edge, answer: Whereabouts, span: Sequence[int], faults: Mapping[str, object]
    ) -> None:
        for at in span:
            told = self._told.get((edge.target, at))
            if told and (told.place or not answer.place):
                return
            subject = self._subjects[at]
            if answer.place and (subject.name in faults or not subject.has(answer.place)):
                return
            self._told[edge.target, at] = answer
            if answer.place:
                self._known[edge.target][at] = answer.place

    def _beyond(self, edge: _Edge) -> list[int]:
        at, span = edge.unknown, []
        while self._is_unplaced(edge.target, at):
            span.append(at)
            at += edge.way
        return span


def _both_ways(edge: _Edge, answer: Whereabouts) -> Iterator[tuple[_Edge, Whereabouts]]:
    """Offer what was found by its name to the releases before and after."""
    yield edge, answer
    yield edge._replace(unknown=edge.unknown + 1, way=1), answer


class Moves:
    """
    The targets that releases lack of those that rows change in them.

    All are looked for together: each release is searched once, several at a time.

    Args:
        coverage: rows and releases that can be read.

    """

    def __init__(self, coverage: Coverage) -> None:
        self._projects = _by_project(coverage.subjects)
        self._first: dict[tuple[Target, str], Subject | None] = {}
        self._trails = {
            project: _followed(subjects, coverage) for project, subjects in self._projects.items()
        }

    def words(self, target: Target, subject: Subject) -> str:
        """Say where a target went that a release lacks, or since when it is there; or ''."""
        since = self._since(target, subject.project)
        same = self._projects[subject.project]
        if since and same.index(since) > same.index(subject):
            return f"; it is there from {since.name} on"
        told = self._trails[subject.project].told(target, subject)
        if told and told.words:
            return f"; {told.words}"
        return "" if since else meant(target, subject)

    def _since(self, target: Target, project: str) -> Subject | None:
        """Return the first release that has a target."""
        if (target, project) not in self._first:
            having = (one for one in self._projects[project] if one.has(target))
            self._first[target, project] = next(having, None)
        return self._first[target, project]


def _by_project(subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    found: dict[str, list[Subject]] = {}
    for one in subjects:
        found.setdefault(one.project, []).append(one)
    return found


def _followed(subjects: Sequence[Subject], coverage: Coverage) -> Trails:
    """Learn what is missed anywhere in all releases, and follow it from the older to the newer."""
    wanted = {target for one in subjects for target in _missing(one, coverage)}
    learn_all(subjects, lambda _: wanted)
    trails = Trails(subjects, sorted(wanted, key=str), ways=(1,), by_name=True)
    trails.follow()
    return trails


def _missing(subject: Subject, coverage: Coverage) -> Iterator[Target]:
    """List what a release should have and lacks."""
    for row in coverage.rows:
        for change in coverage.due(row, subject):
            if not isinstance(change, (Add, Provide)) and subject.lacks(change.place):
                yield change.place
