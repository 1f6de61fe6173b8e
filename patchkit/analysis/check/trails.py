"""Finds where targets moved in releases that lack them, followed from release to release."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.learning import in_parallel, learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Add, Provide
from patchkit.core.rows.target import Target

Expected = Callable[[CheckedRelease], Iterable[Target]]
"""Lists the targets that a release should have."""

_MOVES = 4
"""How many moves of a target are followed one after another."""
_SEARCHED_BY_NAME = 8
"""In how many releases a target that none has is searched for: it may have come and gone."""


class _Edge(NamedTuple):
    """Where to search for a target: in a release that lacks it, next to one that has it.

    A target that no release has is searched for by its name alone: `origin` is then the target
    itself, and None for the release.
    """

    target: Target  # the name that the caller has given
    origin: tuple[Target, CheckedRelease | None]  # name and release next to the edge
    position: int  # the index of the release that lacks it
    direction: int  # in which it is followed from there: 1 to later releases, -1 to earlier ones


class _Span(NamedTuple):
    """What a search at an edge found, and in which releases it may hold."""

    edge: _Edge
    result: MoveResult
    indexes: list[int]  # of these releases, beginning with that of the edge


class Trails:
    """Follows moves of targets through the readable releases of one distribution.

    A search costs much. So it is only made in a release that lacks a target and whose neighbour has
    it. In the releases beyond, the name that was found is looked up.

    Args:
        releases: the releases, the oldest first; the targets were looked up in them.
        targets: the targets.
        directions: where they are followed: 1 to later releases, -1 to earlier ones.
        by_name: whether a target that no release has is searched for by its name.
    """

    def __init__(
        self,
        releases: Sequence[CheckedRelease],
        targets: Iterable[Target],
        directions: Sequence[int],
        *,
        by_name: bool = False,
    ) -> None:
        self._releases = releases
        self._directions = directions
        self._by_name = by_name
        # For each target, by the index of each release that has it: its name there.
        self._names = {target: self._unmoved(target) for target in targets}
        # By target and the index of a release that lacks it: what became of it there.
        self._results: dict[tuple[Target, int], MoveResult] = {}

    def _unmoved(self, target: Target) -> dict[int, Target]:
        """Return the indexes of the releases that have a target, each with the unchanged name."""
        return {
            index: target
            for index, release in enumerate(self._releases)
            if release.has(target)
        }

    def follow(self) -> None:
        """Search for the targets; what is found may move again, and is followed in turn."""
        if self._by_name:
            self._search_by_name()
        for _ in range(_MOVES):
            edges = list(self._edges())
            if not edges:
                break
            self._confirm(list(self._searched(edges)))

    def _search_by_name(self) -> None:
        """Search for targets that no release has; what is found is followed in both directions."""
        searched: list[tuple[_Edge, MoveResult]] = []
        for edge, result in self._searched(self._edges_of_unknown()):
            if result.place:
                # `edge` is followed to earlier releases, `later` to those after its release.
                later = edge._replace(position=edge.position + 1, direction=1)
                searched.append((edge, result))
                searched.append((later, result))
        self._confirm(searched)

    def move_of(self, target: Target, release: CheckedRelease) -> MoveResult | None:
        """Return what became of a target in a release that lacks it; None if that is unknown.

        Args:
            target: the target.
            release: the release.
        """
        index = self._releases.index(release)
        return self._results.get((target, index))

    def _edges(self) -> Iterator[_Edge]:
        """Yield each release that lacks a target, and whose neighbour has it.

        A release in which the target was already searched for is left out.
        """
        for target, names in self._names.items():
            for index in sorted(names):
                origin = (names[index], self._releases[index])
                for direction in self._directions:
                    neighbour = index + direction
                    if self._is_unsearched(target, neighbour):
                        yield _Edge(target, origin, neighbour, direction)

    def _edges_of_unknown(self) -> Iterator[_Edge]:
        """Yield where to search for targets that no release has: in the newest and some before it.

        Modules are searched for in the newest alone.
        """
        count = len(self._releases)
        newest = count - 1
        step = max(1, ceil(count / _SEARCHED_BY_NAME))
        unknown = [target for target, names in self._names.items() if not names]
        for index in range(newest, -1, -step):
            for target in unknown:
                is_searched_for = target.qualname or index == newest
                if is_searched_for and self._is_unsearched(target, index):
                    yield _Edge(target, (target, None), index, direction=-1)

    def _is_unsearched(self, target: Target, index: int) -> bool:
        """Whether a release lacks a target, and it is not known what became of it there."""
        if not 0 <= index < len(self._releases):
            return False
        if (target, index) in self._results:
            return False
        release = self._releases[index]
        return release.state(target) == "absent"

    def _searched(self, edges: Iterable[_Edge]) -> Iterator[tuple[_Edge, MoveResult]]:
        """Search at each edge, in several releases at a time.

        Yields:
            Each edge with what was found; those in releases that cannot be read are left out.
        """
        edges_by_release = grouped(
            (self._releases[edge.position], edge) for edge in edges
        )

        def search(release: CheckedRelease) -> list[MoveResult]:
            origins = [edge.origin for edge in edges_by_release[release]]
            return release.moves(origins)

        results = in_parallel(list(edges_by_release), search)
        for release, edges_in_release in edges_by_release.items():
            moves = results[release.name]
            if isinstance(moves, list):  # else an error
                yield from zip(edges_in_release, moves, strict=True)

    def _confirm(self, searched: Sequence[tuple[_Edge, MoveResult]]) -> None:
        """Record what was found for the release at each edge and for those beyond that agree.

        The new names are looked up in all these releases first, in parallel.
        """
        spans = []
        for edge, result in searched:
            indexes = list(self._beyond(edge))
            spans.append(_Span(edge, result, indexes))
        new_names: dict[CheckedRelease, set[Target]] = {}
        for span in spans:
            new_name = span.result.place
            if not new_name:
                continue
            for index in span.indexes:
                release = self._releases[index]
                new_names.setdefault(release, set()).add(new_name)
        releases = [release for release in self._releases if release in new_names]
        faults = learn_all(releases, new_names.__getitem__)
        for span in spans:
            for index in span.indexes:
                if not self._is_news(span, index, faults):
                    break  # in releases beyond, it is searched for anew
                target = span.edge.target
                self._results[target, index] = span.result
                if span.result.place:
                    self._names[target][index] = span.result.place

    def _is_news(self, span: _Span, index: int, faults: Collection[str]) -> bool:
        """Whether a result is true in a release too, and says more than what is known there.

        That a target is gone is news where nothing is known of it. A place that it went to is news
        also where it was taken to be gone.
        """
        known = self._results.get((span.edge.target, index))
        destination = span.result.place
        if destination is None:
            return known is None
        if known and known.place:
            return False
        release = self._releases[index]
        return release.name not in faults and release.has(destination)

    def _beyond(self, edge: _Edge) -> Iterator[int]:
        """Yield the indexes of the releases from an edge on that lack the target.

        The first release that has it ends them, and so does one in which its new name is known.
        """
        index = edge.position
        while True:
            result = self._results.get((edge.target, index))
            # An earlier search that found nothing ends nothing: this one may have found more.
            was_not_found = result is not None and result.place is None
            if not was_not_found and not self._is_unsearched(edge.target, index):
                return
            yield index
            index += edge.direction


class Moves:
    """Tells where targets moved that releases should have but lack; all are searched for at once.

    Args:
        releases: the releases, of each distribution the oldest first.
        expected: lists the targets that a release should have.
    """

    def __init__(self, releases: Iterable[CheckedRelease], expected: Expected) -> None:
        self._projects = grouped((release.project, release) for release in releases)
        self._trails = {
            project: _followed(of_project, expected)
            for project, of_project in self._projects.items()
        }
        # By project and target, the index of the first release that has the target; None if none.
        self._first: dict[tuple[str, Target], int | None] = {}

    def move_of(self, target: Target, release: CheckedRelease) -> MoveResult | None:
        """Return where a target moved that a release lacks; None where nothing is known.

        Args:
            target: the target.
            release: the release.
        """
        return self._trails[release.project].move_of(target, release)

    def words(self, target: Target, release: CheckedRelease) -> str:
        """Say where a target moved that a release lacks, or in which later release it appears.

        Args:
            target: the target.
            release: the release.

        Returns:
            The end of a sentence, which begins with a semicolon; '' where nothing is known.
        """
        of_project = self._projects[release.project]
        first = self._first_with(target, release.project)
        if first is not None and release in of_project[:first]:
            return f"; it first appears in {of_project[first].name}"
        move = self.move_of(target, release)
        if move and move.words:
            return f"; {move.words}"
        return ""

    def fix(self, fix: str, target: Target, release: CheckedRelease) -> str:
        """Say what to do about a target that a release lacks.

        Args:
            fix: what to do if its name is spelled right.
            target: the target.
            release: the release.

        Returns:
            The fix. If no release has the target, its name may be misspelled: similar names come
            first. One that was found by name is no move then, if its module has a similar name.
        """
        if self._first_with(target, release.project) is not None:
            return fix
        question = did_you_mean(target, release).removeprefix("; ")
        move = self.move_of(target, release)
        is_elsewhere = move and move.words and str(move.place) not in question
        if not question or is_elsewhere:
            return fix
        return f"{question} Otherwise, {fix}"

    def _first_with(self, target: Target, project: str) -> int | None:
        """Return which release of a project is the first that has a target; None if none has."""
        key = (project, target)
        if key not in self._first:
            self._first[key] = None
            for index, release in enumerate(self._projects[project]):
                if release.has(target):
                    self._first[key] = index
                    break
        return self._first[key]


def changed_targets(coverage: Coverage, release: CheckedRelease) -> Iterator[Target]:
    """Yield the targets that rows change in a release and that have to be there.

    Args:
        coverage: the rows, and which releases they are for.
        release: the release.
    """
    for row in coverage.rows:
        for change in coverage.due(row, release):
            if not isinstance(change, (Add, Provide)):
                yield change.place


def _followed(releases: Sequence[CheckedRelease], expected: Expected) -> Trails:
    """Follow the targets that any of the releases lacks, forwards from those that have them."""
    missing: set[Target] = set()
    for release in releases:
        missing.update(
            target for target in expected(release) if release.state(target) == "absent"
        )
    # The trails ask each release for all of them.
    learn_all(releases, lambda _: missing)
    targets = sorted(missing, key=str)
    trails = Trails(releases, targets, directions=(1,), by_name=True)
    trails.follow()
    return trails
