"""The ranges of a row and its changes, against each other and against the releases there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.coverage import (
    allows,
    names_project,
    open_requirements,
    packages_of,
    projects_of,
)
from patchkit.check.findings import Finding
from patchkit.versions.requirements import allows_any, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchkit.check.coverage import Coverage
    from patchkit.check.subjects import Subject
    from patchkit.rows.declaration import Change, Row

Place = tuple[str, int | None]
_CORRECT = "correct the range, or delete the row"


def of_ranges(
    row: Row, coverage: Coverage, known: Mapping[str, Sequence[str]], place: Place
) -> Iterator[Finding]:
    """
    Find ranges that no release is in, that leave a gap, overlap, or have no end.

    Args:
        row: whose ranges.
        coverage: the releases that are looked at.
        known: for distributions, the versions of all releases that there are.
        place: file and line of the row.

    """
    yield from _unmatched(row, known, place)
    for text in open_requirements(row):
        fix = f"add an upper bound, or say that there is none: '{text}{_comma(text)}<9999'"
        message = f"{text!r} has no upper bound: releases that nobody has seen are patched too"
        yield Finding(codes.OPEN_RANGE, message, fix, row.name, "", "", *place)
    for group in _alternatives(row):
        for subject in coverage.subjects:
            yield from _due_once(row, group, coverage, subject, place)


def _comma(text: str) -> str:
    return "," if any(letter in text for letter in "<>=!~") else ""


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
    about = [one for one in texts if names_project([one], project)]
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
    return [
        group
        for group in groups.values()
        if len({one.place for one in group}) > 1
        and all(one.requires and one.when is None for one in group)
    ]


def _due_once(
    row: Row, group: Sequence[Change], coverage: Coverage, subject: Subject, place: Place
) -> Iterator[Finding]:
    names = coverage.names(subject) & {canonical(name) for name in packages_of([row])}
    if not names or not coverage.allows(row.patch.requires, subject):
        return
    if not any(names_project(one.requires, name) for one in group for name in names):
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
