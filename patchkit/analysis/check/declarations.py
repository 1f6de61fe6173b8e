"""What rows declare: texts that lack, ranges that do not meet, two on one target without order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import (
    Coverage,
    allows,
    open_requirements,
    packages_of,
    projects_of,
)
from patchkit.analysis.check.findings import Finding, Place
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.requirements import allows_any, canonical

_CORRECT = "correct the range, or delete the row"
_TEXTS = {
    "why": (codes.MISSING_WHY, "what goes wrong without it"),
    "upstream": (codes.MISSING_UPSTREAM, "a link, or 'none: reason'"),
    "sunset": (codes.MISSING_SUNSET, "the condition under which the row is deleted"),
}


def of_row(row: Row, pack: PackSource) -> Iterator[Finding]:
    """Find what is wrong with a row in every release."""
    place = pack.place(row)
    for field, (code, expected) in _TEXTS.items():
        if not getattr(row.patch, field).strip():
            message = f"{row.name} has no `{field}`, expected {expected}"
            yield Finding(code, message, f"say it in the row: {field}=…", row.name, "", "", *place)
    if row.patch.body is None:
        return
    changed = [one.body_name for one in row.patch.changes]
    asked = [row.patch.when, row.patch.verify, *(one.when for one in row.patch.changes)]
    for name in dict.fromkeys(filter(None, [*changed, *asked])):
        found = pack.facts(row, name)
        if found.state == "absent":
            message = f"{name} is not in the body: {found.reason}"
            fix = f"define {name} in the body, or name another object in the row"
            yield Finding(codes.NAME_NOT_IN_BODY, message, fix, row.name, "", "", *place)


def of_ranges(
    row: Row, coverage: Coverage, known: Mapping[str, Sequence[str]], place: Place
) -> Iterator[Finding]:
    """Find ranges that no `known` version is in, that leave a gap, overlap, or have no end."""
    yield from _unmatched(row, known, place)
    for text in open_requirements(row):
        comma = "," if any(letter in text for letter in "<>=!~") else ""
        fix = f"add an upper bound, or say that there is none: '{text}{comma}<9999'"
        message = f"{text!r} has no upper bound: releases that nobody has seen are patched too"
        yield Finding(codes.OPEN_RANGE, message, fix, row.name, "", "", *place)
    for group in _alternatives(row):
        for subject in coverage.subjects:
            yield from _due_once(row, group, coverage, subject, place)


def _unmatched(row: Row, known: Mapping[str, Sequence[str]], place: Place) -> Iterator[Finding]:
    texts = list(row.patch.requires)
    narrower = (text for change in row.patch.changes for text in change.requires)
    for project in projects_of([*texts, *narrower]):
        if words := _none_in(texts, project, known):
            yield Finding(codes.NO_RELEASE, words, _CORRECT, row.name, "", "", *place)
            continue
        for change in row.patch.changes:
            if words := _none_in([*texts, *change.requires], project, known):
                target = str(change.place)
                yield Finding(codes.NO_RELEASE, words, _CORRECT, row.name, target, "", *place)


def _none_in(texts: Sequence[str], project: str, known: Mapping[str, Sequence[str]]) -> str:
    """Say that a range is empty, or that no release that there is lies in it; '' where one may."""
    about = [one for one in texts if project in projects_of([one])]
    if not allows_any(about):
        return f"no version of {project} can be in {', '.join(about)}"
    versions = known.get(project)
    if not about or not versions or any(allows(about, project, one) for one in versions):
        return ""
    return f"no release of {project} is in {', '.join(about)}"


def _alternatives(row: Row) -> list[list[Change]]:
    """Group changes that stand for one another: the same name at places in different releases."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in row.patch.changes:
        tail = change.place.qualname or change.place.module.rpartition(".")[2]
        groups.setdefault((change.kind, tail), []).append(change)
    several = [group for group in groups.values() if len({one.place for one in group}) > 1]
    return [group for group in several if all(one.requires and one.when is None for one in group)]


def _due_once(
    row: Row, group: Sequence[Change], coverage: Coverage, subject: CheckedRelease, place: Place
) -> Iterator[Finding]:
    names = coverage.names(subject) & {canonical(name) for name in packages_of([row])}
    narrowed = projects_of(text for one in group for text in one.requires)
    if names.isdisjoint(narrowed) or not coverage.allows(row.patch.requires, subject):
        return
    due = [one for one in group if coverage.allows(one.requires, subject)]
    places = list(dict.fromkeys(str(one.place) for one in due))
    where = (row.name, str(group[0].place), subject.name, *place)
    if not places:
        several = ", ".join(dict.fromkeys(str(one.place) for one in group))
        message = f"none of {several} is in range, though the row is"
        yield Finding(codes.GAP, message, "let one range begin where the other ends", *where)
    elif len(places) > 1:
        message = f"{' and '.join(places)} are both in range"
        yield Finding(codes.OVERLAP, message, "let one range end where the other begins", *where)


def unordered(
    rows: Sequence[Row], due: Callable[[Row], Iterable[Change]]
) -> Iterator[tuple[str, str, str]]:
    """Find pairs on one target where neither says which is first: it, and their names in order."""
    by_target: dict[str, dict[str, Row]] = {}
    for row in rows:
        for change in due(row):
            if change.place.qualname:
                by_target.setdefault(str(change.place), {})[row.name] = row
    behind = dict[str, set[str]]()  # those before each, all the way: rows come behind theirs
    for row in rows:
        after = row.patch.after
        behind[row.name] = {*after}.union(*(behind.get(one, ()) for one in after))
    for target, several in by_target.items():
        for inner, outer in combinations(several.values(), 2):
            if meet(inner, outer) and inner.name not in behind[outer.name]:
                yield target, inner.name, outer.name


def meet(one: Row, other: Row) -> bool:
    """Whether both can be in one process; those that conflict are another finding."""
    refused = one.name in other.patch.conflicts or other.name in one.patch.conflicts
    return bool(one.roles & other.roles) and not refused
