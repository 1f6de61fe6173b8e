"""Finds where targets are in releases that lack them, followed from release to release."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from math import ceil
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.learning import in_parallel, learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.moves.catalog import Catalog
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.resolving.module_tree import module_name
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Add, Provide
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError

Expected = Callable[[CheckedRelease], Iterable[Target]]
"""Lists the targets that a release should have."""

_MOVES = 4
"""How many moves of a target are followed one after another."""
_NAMED = 8
"""In how many releases what none has is looked for by name: it may have come and gone."""


class _Edge(NamedTuple):
    """A release that lacks a target, next to one whose name for it is known."""

    target: Target  # as it was asked for
    # Its name in the release that has it, and that release; as asked for and None if none has it.
    origin: tuple[Target, CheckedRelease | None]
    position: int  # the index of the release that lacks it
    direction: int  # in which it is followed from there: 1 to later releases, -1 to earlier ones


class _Span(NamedTuple):
    """What a search at an edge found, and for which releases that may hold."""

    edge: _Edge
    result: MoveResult
    indexes: list[int]  # of the releases, from the edge on


class Trails:
    """Targets, all learnt, in the releases of one distribution that can be read.

    A search goes on only where a release that lacks a target meets one that has it. Beyond, the
    target that was found is looked up.

    Args:
        releases: the releases, the oldest first.
        targets: the targets.
        ways: the directions in which they are followed: 1 to later releases, -1 to earlier ones.
        by_name: whether what no release has is looked for by its name.
    """

    def __init__(
        self,
        releases: Sequence[CheckedRelease],
        targets: Iterable[Target],
        ways: Sequence[int],
        *,
        by_name: bool = False,
    ) -> None:
        self._releases = releases
        self._directions = ways
        self._by_name = by_name
        # What a target is called in the releases that have it, by their indexes.
        self._names = {target: self._unmoved(target) for target in targets}
        # What became of targets in releases that lack them, by their indexes.
        self._results: dict[tuple[Target, int], MoveResult] = {}

    def _unmoved(self, target: Target) -> dict[int, Target]:
        return {
            index: target
            for index, release in enumerate(self._releases)
            if release.has(target)
        }

    def follow(self) -> None:
        """Search, and go on from what was found."""
        if self._by_name:
            self._search_by_name()
        for _ in range(_MOVES):
            edges = list(self._edges())
            if not edges:
                break
            self._confirm(list(self._searched(edges)))

    def _search_by_name(self) -> None:
        """Look for what no release has; what is found may hold before and after that release."""
        searched: list[tuple[_Edge, MoveResult]] = []
        for edge, result in self._searched(self._unknown()):
            if result.place:
                onwards = edge._replace(position=edge.position + 1, direction=1)
                searched.append((edge, result))
                searched.append((onwards, result))
        self._confirm(searched)

    def move_of(self, target: Target, release: CheckedRelease) -> MoveResult | None:
        """Return what became of a target in a release; None where that was not asked.

        Args:
            target: the target.
            release: the release.
        """
        index = self._releases.index(release)
        return self._results.get((target, index))

    def _edges(self) -> Iterator[_Edge]:
        """Yield each release that lacks a target and lies beside one that has it.

        A release in which the target was searched for is left out.
        """
        for target, names in self._names.items():
            for index in sorted(names):
                origin = (names[index], self._releases[index])
                for direction in self._directions:
                    neighbour = index + direction
                    if self._is_open(target, neighbour):
                        yield _Edge(target, origin, neighbour, direction)

    def _unknown(self) -> Iterator[_Edge]:
        """List what no release has: to look for in the newest, and in some before it.

        Modules are looked for in the newest alone.
        """
        count = len(self._releases)
        newest = count - 1
        spacing = ceil(count / _NAMED)
        step = max(1, spacing)
        unknown = [target for target, names in self._names.items() if not names]
        for index in range(newest, -1, -step):
            for target in unknown:
                is_looked_for = target.qualname or index == newest
                if is_looked_for and self._is_open(target, index):
                    yield _Edge(target, (target, None), index, -1)

    def _is_open(self, target: Target, index: int) -> bool:
        """Whether a release lacks a target, and nothing is known yet of where it went."""
        if not 0 <= index < len(self._releases):
            return False
        if (target, index) in self._results:
            return False
        release = self._releases[index]
        return release.state(target) == "absent"

    def _searched(self, edges: Iterable[_Edge]) -> Iterator[tuple[_Edge, MoveResult]]:
        """Search at each edge, in several releases at a time; one that cannot be read has none."""
        placed = ((self._releases[edge.position], edge) for edge in edges)
        by_release = grouped(placed)

        def search(release: CheckedRelease) -> list[MoveResult]:
            origins = [edge.origin for edge in by_release[release]]
            return release.moves(origins)

        releases = list(by_release)
        results = in_parallel(releases, search)
        for release, edges_there in by_release.items():
            moves = results[release.name]
            if isinstance(moves, list):
                yield from zip(edges_there, moves, strict=True)

    def _confirm(self, searched: Sequence[tuple[_Edge, MoveResult]]) -> None:
        """Take over what was found for the releases from each edge on, as far as it holds."""
        spans = []
        for edge, result in searched:
            indexes = list(self._beyond(edge))
            spans.append(_Span(edge, result, indexes))
        destinations: dict[CheckedRelease, set[Target]] = {}
        for span in spans:
            destination = span.result.place
            if not destination:
                continue
            for index in span.indexes:
                release = self._releases[index]
                targets = destinations.setdefault(release, set())
                targets.add(destination)
        asked_for = [release for release in self._releases if release in destinations]
        faults = learn_all(asked_for, destinations.__getitem__)
        for span in spans:
            for index in span.indexes:
                if not self._holds(span, index, faults):
                    break
                target = span.edge.target
                self._results[target, index] = span.result
                if span.result.place:
                    self._names[target][index] = span.result.place

    def _holds(self, span: _Span, index: int, faults: Collection[str]) -> bool:
        """Whether a result holds in a release, and says more than what is known there."""
        earlier = self._results.get((span.edge.target, index))
        destination = span.result.place
        if destination is None:
            return earlier is None
        if earlier and earlier.place:
            return False
        release = self._releases[index]
        return release.name not in faults and release.has(destination)

    def _beyond(self, edge: _Edge) -> Iterator[int]:
        """List the releases from an edge on that lack the target, as far as none knows its name."""
        index = edge.position
        while True:
            result = self._results.get((edge.target, index))
            is_gone = result is not None and result.place is None
            if not is_gone and not self._is_open(edge.target, index):
                return
            yield index
            index += edge.direction


class Moves:
    """The targets that releases lack of those that they should have, all looked for together.

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

    def move_of(self, target: Target, release: CheckedRelease) -> MoveResult | None:
        """Return where a target went that a release lacks; None where nothing is known.

        Args:
            target: the target.
            release: the release.
        """
        return self._trails[release.project].move_of(target, release)

    def words(self, target: Target, release: CheckedRelease) -> str:
        """Return where a target went that a release lacks, or since when it is there.

        Args:
            target: the target.
            release: the release.

        Returns:
            The end of a sentence, which begins with a semicolon; '' where nothing is known.
        """
        of_project = self._projects[release.project]
        first = _first_with(target, of_project)
        if first and of_project.index(first) > of_project.index(release):
            return f"; it first appears in {first.name}"
        move = self.move_of(target, release)
        if move and move.words:
            return f"; {move.words}"
        return ""

    def fix(self, fix: str, target: Target, release: CheckedRelease) -> str:
        """Return what to do about a target that a release lacks.

        Args:
            fix: what to do if the name is right.
            target: the target.
            release: the release.

        Returns:
            The fix; if no release has the target, so that its name may be a typo, the names that
            may be meant come first.
        """
        of_project = self._projects[release.project]
        if self.words(target, release) or _first_with(target, of_project):
            return fix
        question = did_you_mean(target, release).removeprefix("; ")
        if not question:
            return fix
        return f"{question} Otherwise, {fix}"


def _first_with(
    target: Target, releases: Iterable[CheckedRelease]
) -> CheckedRelease | None:
    for release in releases:
        if release.has(target):
            return release
    return None


def changed_targets(coverage: Coverage, release: CheckedRelease) -> Iterator[Target]:
    """Yield what rows change in a release, and so expect there.

    Args:
        coverage: the rows, and which releases they are for.
        release: the release.
    """
    for row in coverage.rows:
        for change in coverage.due(row, release):
            if not isinstance(change, (Add, Provide)):
                yield change.place


def _followed(releases: Sequence[CheckedRelease], expected: Expected) -> Trails:
    """Follow what any of the releases lacks to later ones, or else by name."""
    missing: set[Target] = set()
    for release in releases:
        missing.update(
            target for target in expected(release) if release.state(target) == "absent"
        )
    learn_all(releases, lambda _: missing)
    targets = sorted(missing, key=str)
    trails = Trails(releases, targets, ways=(1,), by_name=True)
    trails.follow()
    return trails


def did_you_mean(target: Target, release: CheckedRelease) -> str:
    """Ask whether a target was meant that is like one that a release lacks.

    Args:
        target: the target that it lacks.
        release: the release.

    Returns:
        The end of a sentence, which begins with a semicolon; '' where nothing is like it.
    """
    store = release.store
    key = f"{release.key} {target}"
    names: list[str] | None = None
    if store:
        names = store.get("near", key)
    if names is None:
        try:
            names = [str(similar) for similar in _similar(target, release)]
        except UpstreamError:
            return ""
        if store:
            store.put("near", key, names)
    if not names:
        return ""
    alternatives = " or ".join(names)
    return f"; did you mean {alternatives}?"


def _similar(target: Target, release: CheckedRelease) -> list[Target]:
    """Find targets of the same module, or of others, whose names are like that of a target."""
    modules = release.resolver.modules
    if modules.get(target.module) is None:
        return _in_other_modules(target, release)
    if not target.qualname:
        return []
    definitions = Catalog(modules).module(target.module)
    if definitions is None:
        return []
    names = definitions.names | definitions.tops
    matches = get_close_matches(target.qualname, sorted(names), n=2)
    return [Target(target.module, name) for name in matches]


def _in_other_modules(target: Target, release: CheckedRelease) -> list[Target]:
    """Read `up.mod.f`, which is no module, as `up.mod:f`; else look for modules named alike."""
    if not target.qualname:
        for candidate in splits(target.module):
            if release.has(candidate):
                return [candidate]
    names = []
    for path in release.source.paths():
        if path.endswith(".py"):
            name = module_name(path)
            names.append(name)
    matches = get_close_matches(target.module, names, cutoff=0.8)
    candidates = [Target(name, target.qualname) for name in matches]
    resolve = release.resolver.resolve
    present = []
    for candidate in candidates:
        resolved = resolve(candidate)
        if resolved.state == "present":
            present.append(candidate)
    return present


def splits(dotted: str) -> Iterator[Target]:
    """Yield what `up.mod.f` may be the dotted name of, the longest module first.

    Args:
        dotted: the dotted name.
    """
    parts = dotted.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:end])
        qualname = ".".join(parts[end:])
        yield Target(module, qualname)
