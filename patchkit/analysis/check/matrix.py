"""Chooses few releases to test that cover all cases, and tells which ends of ranges lanes cover."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.lanes import Lane, Lanes
from patchkit.analysis.check.packages import allows
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.record import Record
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import (
    applies_here,
    canonical,
    parse_requirement,
    release_order,
    written_bounds,
)
from patchkit.errors import UpstreamError

Released = Callable[[str], Sequence[str]]
"""Lists the releases of a distribution, the oldest first."""


class Case(NamedTuple):
    """Something that a test of a release covers: an end of a range, or one source of a target.

    Args:
        end: Which end of a range, such as `first release of`; '' for the source of a target.
        subject: The patch whose range it is, or the target.
        source: The fingerprint of the source, or the state of a target that has none.
    """

    end: str
    subject: str
    source: str = ""

    def __str__(self) -> str:
        if self.source:
            return f"{self.subject} as {self.source}"
        return f"{self.end} {self.subject}"


Cases = dict[Case, frozenset[int]]
"""The cases to cover, each with the indexes of the releases that do."""


def cases(
    rows: Sequence[Row],
    releases: Sequence[CheckedRelease],
    progress: Progress | None = None,
) -> tuple[Cases, Mapping[str, UpstreamError]]:
    """List the cases that tests have to cover in the releases of one distribution.

    These are both ends of each range, a row's or a change's own, and each source of a target in it.

    Args:
        rows: the rows.
        releases: the releases, the oldest first; the cases hold indexes into them.
        progress: called with how many releases are read.

    Returns:
        The cases, and the errors of releases that cannot be read, by their names.
    """
    from patchkit.analysis.check.learning import learn_all  # noqa: PLC0415 - not used for lanes

    coverage = Coverage(rows, releases)
    faults = learn_all(releases, coverage.targets, progress)
    readable = [
        index for index, release in enumerate(releases) if release.name not in faults
    ]
    listed: Cases = {}
    for row in rows:
        listed.update(_ends(row, coverage, readable))
        listed.update(_sources(row, coverage, readable))
    return listed, faults


def _ends(
    row: Row, coverage: Coverage, readable: Sequence[int]
) -> Iterator[tuple[Case, frozenset[int]]]:
    """Yield both ends of the row's range, and of that of each change that has its own."""
    ranges = {row.name: _in_range(row, coverage, readable)}
    for number, change in enumerate(row.patch.changes, start=1):
        if change.requires:
            ranges[f"{row.name}, change {number}"] = [
                index
                for index in readable
                if change in coverage.due(row, coverage.releases[index])
            ]
    for name, inside in ranges.items():
        if inside:
            yield _end("first", name, inside[0], readable[0])
            yield _end("last", name, inside[-1], readable[-1])


def _in_range(row: Row, coverage: Coverage, readable: Sequence[int]) -> list[int]:
    """Return the indexes of the releases that are in the range of a row."""
    inside = []
    for index in readable:
        release = coverage.releases[index]
        is_concerned = coverage.concerns(row, release)
        if is_concerned and not coverage.is_out_of_range(row, release):
            inside.append(index)
    return inside


def _end(which: str, name: str, index: int, limit: int) -> tuple[Case, frozenset[int]]:
    """Make the case of one end of a range.

    Args:
        which: `first` or `last`.
        name: What has the range.
        index: The release at that end.
        limit: The first or last release of all; the range may go on beyond it.
    """
    indexes = frozenset([index])
    if index == limit:
        return Case(f"{which} of the given releases for", name), indexes
    return Case(f"{which} release of", name), indexes


def _sources(row: Row, coverage: Coverage, readable: Sequence[int]) -> Cases:
    """List each source that a target of the row has, with the releases that have it."""
    by_source: dict[Case, set[int]] = {}
    for index in readable:
        release = coverage.releases[index]
        for change in coverage.due(row, release):
            facts = release.facts(change.place)
            content = facts.fingerprint or facts.state
            case = Case("", str(change.place), content)  # "": it is no end of a range
            indexes = by_source.setdefault(case, set())
            indexes.add(index)
    return {case: frozenset(indexes) for case, indexes in by_source.items()}


def few(listed: Cases) -> list[int]:
    """Choose few releases that together cover every case, and of equally good ones the newest.

    Args:
        listed: the cases.

    Returns:
        The indexes of the releases, the smallest first; each of them is needed.
    """
    required = set(listed.values())
    chosen = _chosen_greedily(required)
    for index in sorted(chosen):
        others = chosen - {index}
        is_superfluous = all(indexes & others for indexes in required)
        if is_superfluous:
            chosen.discard(index)
    return sorted(chosen)


def _chosen_greedily(required: set[frozenset[int]]) -> set[int]:
    """Choose again and again the release that covers most of the cases not yet covered.

    Args:
        required: for each case, the indexes of the releases that cover it.
    """
    chosen: set[int] = set()
    uncovered = required
    while uncovered:
        counts: dict[int, int] = {}
        for indexes in uncovered:
            for index in indexes:
                counts[index] = counts.get(index, 0) + 1
        best = max(counts, key=lambda index: (counts[index], index))
        chosen.add(best)
        uncovered = {indexes for indexes in uncovered if not indexes & chosen}
    return chosen


class Boundary(Record):
    """One end of a range.

    Args:
        patch: the name of the patch.
        change: the number of the change, from 1 on; None where the bound is the patch's own.
        requirement: the bound, such as `vllm<0.33`.
        edge: the last release inside; None where none is inside.
        covered: how: `exact`, `imported only`, `both sides`, `reason` or `no`.
        lanes: the names of the lanes that cover it.
        reason: why no lane does; '' where one does, or where no reason is known.
    """

    patch: str
    change: int | None
    requirement: str
    edge: str | None
    covered: str
    lanes: Sequence[str]
    reason: str


def boundaries(rows: Iterable[Row], lanes: Lanes, released: Released) -> list[Boundary]:
    """List both ends of each range of rows and of their changes, with the lanes that cover them.

    A lane at the edge of a range covers that end. So do two lanes, one inside and one outside, if
    all other bounds allow the outer one.

    Args:
        rows: the rows.
        lanes: the lanes.
        released: lists the releases of a distribution, the oldest first.

    Returns:
        The ends, in the order of rows, changes and bounds.
    """
    listed: list[Boundary] = []
    for row in rows:
        for span in _ranges(row):
            for bound in span.own:
                releases = released(_project(bound))
                for edge in _edges(bound, releases):
                    boundary = _boundary(row.name, span, bound, edge, lanes)
                    listed.append(boundary)
    return listed


class _Range(NamedTuple):
    """The range of a patch or of one of its changes, as bounds such as `vllm<0.33`."""

    change: int | None  # its number, from 1 on; None for the patch's own range
    own: list[str]  # the bounds of the patch, or of the change itself
    in_force: list[str]  # all bounds that apply: for a change, its patch's too


def _ranges(row: Row) -> Iterator[_Range]:
    """Yield the range of a patch, then those of its changes."""
    of_patch = _bounds(row.patch.requires)
    yield _Range(None, of_patch, of_patch)
    for number, change in enumerate(row.patch.changes, start=1):
        own = _bounds(change.requires)
        yield _Range(number, own, [*of_patch, *own])


def _bounds(requirements: Iterable[str]) -> list[str]:
    """Split requirements into single bounds: `vllm>=0.1,<0.3` into `vllm>=0.1` and `vllm<0.3`.

    Requirements for other platforms are left out.
    """
    single: list[str] = []
    for text in requirements:
        requirement = parse_requirement(text)
        bounds = written_bounds(text)
        if bounds and applies_here(requirement):
            name = requirement.name
            single += [f"{name}{bound}" for bound in bounds.split(",")]
    return single


def _project(bound: str) -> str:
    """Return the distribution that a bound is on."""
    requirement = parse_requirement(bound)
    return canonical(requirement.name)


def _edges(bound: str, releases: Sequence[str]) -> list[str | None]:
    """Find the releases at the edge of a bound: inside, with a neighbour outside.

    There are two of `!=1.2`. If all releases are inside, it is the newest or the oldest; if none
    is, the edge is None.
    """
    project = _project(bound)
    is_inside = [allows([bound], project, release) for release in releases]
    if not any(is_inside):
        return [None]
    if all(is_inside):
        if "<" in bound:  # an upper bound, somewhere after the newest release
            return [releases[-1]]
        return [releases[0]]
    edges: list[str | None] = []
    newest = len(releases) - 1
    for index, release in enumerate(releases):
        # The first and the last release lack a neighbour on one side, and count as their own.
        previous = max(index - 1, 0)
        following = min(index + 1, newest)
        is_enclosed = is_inside[previous] and is_inside[following]
        if is_inside[index] and not is_enclosed:
            edges.append(release)
    return edges


def _boundary(
    patch: str, span: _Range, bound: str, edge: str | None, lanes: Lanes
) -> Boundary:
    """Tell how an end of a range is covered, by which lanes, or for which reason by none.

    Args:
        patch: the name of the patch.
        span: the range.
        bound: the bound at this end, such as `vllm<0.33`.
        edge: the last release inside; None where none is inside.
        lanes: the lanes, and reasons.
    """
    covered = "no"
    reason = ""
    names = _on_both_sides(span, bound, lanes)
    at_edge = _at_edge(span, bound, edge, lanes)
    if at_edge:
        covered = "imported only" if at_edge.only_imports else "exact"
        names = (at_edge.name,)
    elif names:
        covered = "both sides"
    else:
        reason_of_patch = lanes.reasons.get(f"{patch} {bound}")
        reason = reason_of_patch or lanes.reasons.get(bound, "")
        if reason:
            covered = "reason"
    return Boundary(
        patch,
        span.change,
        requirement=bound,
        edge=edge,
        covered=covered,
        lanes=names,
        reason=reason,
    )


def _at_edge(span: _Range, bound: str, edge: str | None, lanes: Lanes) -> Lane | None:
    """Find a lane with the release at the edge of a bound; one with an engine is preferred."""
    if edge is None:
        return None
    project = _project(bound)
    order = release_order(edge)
    exact = []
    for lane in _candidates(span, bound, lanes):
        release = lane.releases[project]
        if _is_within([bound], lane) and release_order(release) == order:
            exact.append(lane)
    return min(exact, key=lambda lane: lane.only_imports, default=None)


def _on_both_sides(span: _Range, bound: str, lanes: Lanes) -> tuple[str, ...]:
    """Name the lanes next to a bound, the inner one first; () if either side has none."""
    inside = []
    outside = []
    for lane in _candidates(span, bound, lanes):
        if _is_within([bound], lane):
            inside.append(lane.name)
        else:
            outside.append(lane.name)
    if not inside or not outside:
        return ()
    if "<" in bound:  # an upper bound: what is inside is older than what is outside
        return inside[-1], outside[0]
    return inside[0], outside[-1]


def _candidates(span: _Range, bound: str, lanes: Lanes) -> list[Lane]:
    """List the lanes that can run and that all other bounds allow, the oldest release first."""
    project = _project(bound)
    other_bounds = [other for other in span.in_force if other != bound]
    candidates = [
        lane
        for lane in lanes.lanes
        if not lane.reason
        and project in lane.releases
        and _is_within(other_bounds, lane)
    ]
    return sorted(candidates, key=lambda lane: release_order(lane.releases[project]))


def _is_within(bounds: Sequence[str], lane: Lane) -> bool:
    """Whether a lane has a release of each distribution that bounds are on, and it meets them."""
    projects = {_project(bound) for bound in bounds}
    return all(
        project in lane.releases and allows(bounds, project, lane.releases[project])
        for project in projects
    )
