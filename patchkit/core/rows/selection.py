"""Decides which rows apply in this process, and says why the others do not."""

import os
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import (
    canonical,
    holds_between,
    parse_requirement,
    plain_name,
    written_bounds,
)
from patchkit.errors import PatchNameError, VersionError, near, some_of
from patchkit.settings import Settings


def check_names(settings: Settings, names: Collection[str]) -> None:
    """Refuse names in `PATCHKIT_ONLY` and `PATCHKIT_DISABLE` that no patch has.

    Args:
        settings: the settings of this process.
        names: the names of all patches.

    Raises:
        PatchNameError: a name is none of these.
    """
    _check_names("PATCHKIT_ONLY", settings.only or (), names)
    _check_names("PATCHKIT_DISABLE", settings.disabled, names)


def _check_names(
    variable: str, chosen: Collection[str], names: Collection[str]
) -> None:
    """Refuse the first chosen name that is not in `names`; the error proposes similar ones."""
    for name in chosen:
        if name not in names:
            declared = some_of(sorted(names), name)
            hint = near(name, names) or f": {declared}"
            expected = f"expected a patch's name{hint}"
            raise PatchNameError(f"{variable}: found {name!r}, {expected}")


class Reviewer(Protocol):
    """Compares installed sources with the reviewed ones; `runtime.drift` implements it."""

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """Say which targets of a row differ from the reviewed source.

        Args:
            row: The row.
            changes: The changes of the row to look at.

        Returns:
            Words for a message, '' if none differs.
        """

    def releases(self, row: Row, project: str) -> tuple[str, str] | None:
        """Return the first and last reviewed release whose sources are the installed ones.

        Args:
            row: The row whose targets are compared.
            project: The distribution, by its normalized name.
        """


class Selection(Record):
    """Decides by environment and versions which rows apply; any method may raise VersionError.

    Args:
        settings: The settings of this process.
        versions: The versions that run here.
        reviewer: Compares sources with the reviewed ones; None if they are not to be compared.
        environ: The environment variables.
    """

    settings: Settings
    versions: Versions
    reviewer: Reviewer | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def reason_to_skip(self, row: Row) -> str | None:
        """Say why a row does not apply here.

        Args:
            row: The row.

        Returns:
            The reason, or None if the row applies.
        """
        reason = self._not_for_here(row)
        if reason is None and self.settings.on_drift == "skip":
            return self.unreviewed(row) or None  # '' if no source differs
        return reason

    def unmet_here(self, row: Row) -> str | None:
        """Say why a row does not apply here, without comparing sources or raising VersionError.

        Args:
            row: The row.

        Returns:
            The reason, or None if there is none, or a version cannot be read.
        """
        try:
            return self._not_for_here(row)
        except VersionError:
            return None  # the error is raised again when the row is about to apply

    def absent_here(self, row: Row) -> str | None:
        """Say why a row does not apply here, without looking for versions, which takes long.

        Args:
            row: The row.

        Returns:
            The reason, or None if only versions can tell.
        """
        reason = self._switched_off(row) or self._env_unmet(row.patch.env)
        if reason:
            return reason
        for text in row.patch.requires:
            if self.versions.is_absent(text):
                return f"{plain_name(text)} is not installed"
        return None

    def unreviewed(self, row: Row) -> str:
        """Say which targets of a row differ from the reviewed source.

        Args:
            row: The row, of which changes that do not apply here are left out.

        Returns:
            Words for a message, '' if none differs.
        """
        if self.reviewer is None:
            return ""
        changes = [change for change in row.patch.changes if self.applies(change, row)]
        return self.reviewer.words(row, changes)

    def applies(self, change: Change, row: Row) -> bool:
        """Whether the requirements of one change hold.

        Args:
            change: The change.
            row: The row that it is in.
        """
        return self._unmet(change.requires, row) is None

    def _not_for_here(self, row: Row) -> str | None:
        """Return the first reason against a row, without comparing sources; None without one."""
        return (
            self._switched_off(row)
            or self._env_unmet(row.patch.env)
            or self._unmet(row.patch.requires, row)
            or self._no_change_left(row)
        )

    def _switched_off(self, row: Row) -> str | None:
        """Say which variable excludes a row; None if none does."""
        name = row.patch.name
        if name in self.settings.disabled:
            return "disabled by PATCHKIT_DISABLE"
        if self.settings.only is not None and name not in self.settings.only:
            return "not named in PATCHKIT_ONLY"
        return None

    def _env_unmet(self, condition: str | None) -> str | None:
        """Say why a row's `env`, `NAME` or `NAME=value`, is not fulfilled; None if it is."""
        if condition is None:
            return None
        name, equals, value = condition.partition("=")
        current = self.environ.get(name)
        if current is None:
            return f"{name} is not set"
        if equals and current != value:
            return f"{name} is {current!r}, not {value!r}"
        return None

    def _unmet(self, requires: Iterable[str], row: Row) -> str | None:
        """Say why the first unmet requirement is not met; None if all are met."""
        for text in requires:
            reason = self._reason(text, row)
            if reason:
                return reason
        return None

    def _reason(self, text: str, row: Row) -> str | None:
        """Say why a requirement is not met; None if it is.

        If the version names no release, as in a development build, the row's locked sources decide.

        Raises:
            VersionError: The sources do not tell either.
        """
        try:
            return self.versions.unmet(text)
        except VersionError:
            reason = self._reason_by_source(text, row)
            if reason is None:
                raise
            return reason or None  # '' if the requirement is met

    def _reason_by_source(self, text: str, row: Row) -> str | None:
        """Judge a requirement by the releases whose reviewed sources are the installed ones.

        Returns:
            Why it is not met; '' if it is met; None if the sources do not tell.

        Raises:
            VersionError: The version that names no release is one that the user has set.
        """
        name = parse_requirement(text).name
        # Raises if the version is one that the user has set: the user is to correct it.
        self.versions.believed(name)
        if self.reviewer is None:
            return None
        reviewed = self.reviewer.releases(row, canonical(name))
        if reviewed is None:
            return None
        first, last = reviewed
        holds = holds_between(text, first, last)
        if holds is None:
            return None
        if holds:
            return ""
        releases = first if first == last else f"{first} to {last}"
        return f"the source of {name} here matches {releases}, outside {written_bounds(text)}"

    def _no_change_left(self, row: Row) -> str | None:
        """Say why the first change does not apply, if none of the row's changes does."""
        reasons = [self._unmet(change.requires, row) for change in row.patch.changes]
        if not all(reasons):  # a change whose reason is None applies
            return None
        return f"no change applies here: {reasons[0]}"
