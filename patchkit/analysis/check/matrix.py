"""Releases to run: a few that show all that differs; lanes, and the ends of ranges they cover."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from patchkit.analysis.check.coverage import Coverage, allows
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.record import Record
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.project import parse_toml
from patchkit.core.versions.requirements import (
    applies_here,
    canonical,
    parse_requirement,
    release_order,
    written_bounds,
)
from patchkit.errors import SettingsError, UpstreamError, VersionError

Released = Callable[[str], Sequence[str]]


T = TypeVar("T")
Cases = dict[str, frozenset[int]]  # what to exercise, in words, and the places of releases that do


def cases(
    rows: Sequence[Row], subjects: Sequence[CheckedRelease], progress: Progress | None = None
) -> tuple[Cases, Mapping[str, UpstreamError]]:
    """List what has to be exercised in the releases of one distribution, and who cannot be read.

    These are both ends of each range, a row's or a change's own, and each source of a target there.
    """
    from patchkit.analysis.check.learning import learn_all  # noqa: PLC0415 - lanes ask no releases

    coverage = Coverage(rows, subjects)
    faults = learn_all(subjects, coverage.targets, progress)
    found: Cases = {}
    sound = [at for at, one in enumerate(subjects) if one.name not in faults]
    for row in rows:
        found.update(_ends(row, coverage, sound))
        found.update(_sources(row, coverage, sound))
    return found, faults


def _ends(
    row: Row, coverage: Coverage, places: Sequence[int]
) -> Iterator[tuple[str, frozenset[int]]]:
    met = [at for at in places if coverage.meets(row, coverage.subjects[at])]
    ranges = {row.name: [at for at in met if not coverage.is_out(row, coverage.subjects[at])]}
    for number, change in enumerate(row.patch.changes, start=1):
        if change.requires:
            due = [at for at in places if change in coverage.due(row, coverage.subjects[at])]
            ranges[f"{row.name}, change {number}"] = due
    for name, inside in ranges.items():
        if inside:
            for word, at in (("first", 0), ("last", -1)):
                what = "release of" if inside[at] != places[at] else "of the given releases for"
                yield f"{word} {what} {name}", frozenset([inside[at]])


def _sources(row: Row, coverage: Coverage, places: Sequence[int]) -> Cases:
    by_source: dict[str, set[int]] = {}
    for at in places:
        subject = coverage.subjects[at]
        for change in coverage.due(row, subject):
            facts = subject.facts(change.place)
            mark = facts.fingerprint or facts.state
            by_source.setdefault(f"{change.place} as {mark}", set()).add(at)
    return {name: frozenset(several) for name, several in by_source.items()}


def few(found: Cases) -> list[int]:
    """Choose few releases that exercise every case, none of them for nothing; rather newer ones."""
    left = wanted = set(found.values())
    chosen: set[int] = set()
    while left:
        members = {at for one in left for at in one}
        chosen.add(max(members, key=lambda at: (sum(at in one for one in left), at)))
        left = {one for one in left if not one & chosen}
    for at in sorted(chosen):
        if all(one & (chosen - {at}) for one in wanted):
            chosen.discard(at)
    return sorted(chosen)


class Lane(Record):
    """One combination of releases; `reason` says why it cannot run, and is '' where it can."""

    name: str
    releases: Mapping[str, str]
    reason: str
    table: Mapping[str, Any]  # as written, for whoever runs it


class Lanes(Record):
    """A file of lanes; `reasons` says of a bound, or `PATCH BOUND`, why no lane covers it."""

    lanes: Sequence[Lane]
    reasons: Mapping[str, str]


class Boundary(Record):
    """One end of a range; `edge` is the last release inside, None where none is inside."""

    patch: str
    change: int | None  # from 1 on; None where the bound is the patch's own
    requirement: str
    edge: str | None
    covered: str  # exact, imported only, both sides, reason, no
    lanes: Sequence[str]
    reason: str


def read_lanes(file: Path) -> Lanes:
    """Read a file of lanes; SettingsError names file and field, what was found and expected."""
    try:
        table = parse_toml(file, file.read_bytes())
    except OSError as error:
        raise SettingsError(f"{file}: found no file of lanes ({error.strerror})") from error
    if unknown := [*table.keys() - {"lanes", "boundaries"}]:
        expected = "expected [lanes.NAME] and [boundaries]"
        raise SettingsError(f"{file}: found the unknown key {unknown[0]!r}, {expected}")
    lanes = typed(file, "lanes", table.get("lanes"), dict, "a table of lanes")
    reasons = typed(file, "boundaries", table.get("boundaries", {}), dict, "a table of reasons")
    for bound, reason in reasons.items():
        typed(file, f"boundaries.{bound}", reason, str, "why no lane covers it")
    return Lanes([_lane(file, name, found) for name, found in lanes.items()], reasons)


def _lane(file: Path, name: str, found: object) -> Lane:
    field = f"lanes.{name}"
    table = typed(file, field, found, dict, "a table")
    expected = "a table such as { vllm = '0.32.0' }"
    releases = typed(file, f"{field}.releases", table.get("releases"), dict, expected)
    for project, release in releases.items():
        where = f"{field}.releases.{project}"
        try:
            release_order(typed(file, where, release, str, "a release such as '0.32.0'"))
        except VersionError as error:
            raise SettingsError(f"{file}, {where}: {error}") from error
    reason = typed(file, f"{field}.reason", table.get("reason", ""), str, "why it cannot run")
    return Lane(name, {canonical(key): one for key, one in releases.items()}, reason, table)


def typed(file: Path, field: str, found: object, kind: type[T], expected: str) -> T:
    """Return what a file has for a field; SettingsError where it is of another type."""
    if not isinstance(found, kind):
        words = "nothing" if found is None else repr(found)
        raise SettingsError(f"{file}, {field}: found {words}, expected {expected}")
    return found


def boundaries(rows: Iterable[Row], lanes: Lanes, released: Released) -> list[Boundary]:
    """List both ends of each range of rows and of their changes, with the lanes that cover them.

    A lane at the very end covers it, and so do two: one inside, and one that only this bound keeps
    outside. `released` lists the releases of a distribution, the oldest first.
    """
    return [
        Boundary(row.name, change, bound, edge, *_covering(lanes, row.name, bound, all_of, edge))
        for row in rows
        for change, own, all_of in _ranges(row)
        for bound in own
        for edge in _edges(bound, released(_project(bound)))
    ]


def _ranges(row: Row) -> Iterator[tuple[int | None, list[str], list[str]]]:
    whole = _bounds(row.patch.requires)
    yield None, whole, whole
    for number, change in enumerate(row.patch.changes, start=1):
        own = _bounds(change.requires)
        yield number, own, [*whole, *own]


def _bounds(texts: Iterable[str]) -> list[str]:
    parsed = [(parse_requirement(text), written_bounds(text)) for text in texts]
    here = [(one.name, bounds) for one, bounds in parsed if bounds and applies_here(one)]
    return [f"{name}{bound}" for name, bounds in here for bound in bounds.split(",")]


def _project(bound: str) -> str:
    return canonical(parse_requirement(bound).name)


def _edges(bound: str, releases: Sequence[str]) -> list[str | None]:
    """Find the releases inside that have a neighbour outside; the newest or oldest if none has."""
    held = [allows([bound], _project(bound), release) for release in releases]
    around = zip(releases, held, [*held[:1], *held], [*held[1:], *held[-1:]])  # noqa: B905
    edges = [release for release, is_in, *beside in around if is_in and not all(beside)]
    return [*edges] or ([releases[-1 if "<" in bound else 0]] if any(held) else [None])


def _covering(
    lanes: Lanes, patch: str, bound: str, all_of: Iterable[str], edge: str | None
) -> tuple[str, Sequence[str], str]:
    """Tell how an end of a range is covered, by which lanes, or for which reason by none."""
    project, rest = _project(bound), [one for one in all_of if one != bound]
    run = [one for one in lanes.lanes if not one.reason and project in one.releases]
    run.sort(key=lambda lane: release_order(lane.releases[project]))
    able = [lane for lane in run if _holds(rest, lane)]
    inside = [lane for lane in able if _holds([bound], lane)]
    outside = [lane for lane in able if lane not in inside]
    at = edge and release_order(edge)
    if exact := [one for one in inside if release_order(one.releases[project]) == at]:
        lane = min(exact, key=_only_imports)
        return "imported only" if _only_imports(lane) else "exact", [lane.name], ""
    if inside and outside:
        upper = "<" in bound
        return "both sides", (inside[-upper].name, outside[upper - 1].name), ""
    reason = lanes.reasons.get(f"{patch} {bound}") or lanes.reasons.get(bound, "")
    return "reason" if reason else "no", (), reason


def _only_imports(lane: Lane) -> bool:
    return lane.table.get("runs") == "import"


def _holds(bounds: Sequence[str], lane: Lane) -> bool:
    projects, here = {_project(one) for one in bounds}, lane.releases
    return projects <= here.keys() and all(allows(bounds, one, here[one]) for one in projects)
