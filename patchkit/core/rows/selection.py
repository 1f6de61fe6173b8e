"""Which rows apply in this process, and why the others do not."""

import os
from collections.abc import Iterable, Mapping
from typing import Protocol

from patchkit.core.record import Record, field
from patchkit.core.rows.declaration import Change, Row
from patchkit.core.versions.installed import Versions
from patchkit.core.versions.requirements import (
    canonical,
    holds_between,
    parse_requirement,
    written_bounds,
)
from patchkit.errors import VersionError
from patchkit.settings import Settings


class Reviewer(Protocol):
    """Knows which upstream sources were reviewed."""

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """Say which targets of a row differ from the reviewed source; '' where none does."""

    def releases(self, row: Row, project: str) -> tuple[str, str] | None:
        """Return the first and last reviewed release whose sources are the installed ones."""


class Selection(Record):
    """Decides by environment and versions which rows apply; any method may raise VersionError."""

    settings: Settings
    versions: Versions
    reviewer: Reviewer | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def reason_to_skip(self, row: Row) -> str | None:
        """Say why a row does not apply here, or None if it does."""
        drift = self.settings.on_drift == "skip"
        return self._not_for_here(row) or (drift and self.unreviewed(row)) or None

    def unmet_here(self, row: Row) -> str | None:
        """Say why a row does not apply here, as far as that needs no sources."""
        try:
            return self._not_for_here(row)
        except VersionError:
            return None  # an error once the row is due

    def unreviewed(self, row: Row) -> str:
        """Say which targets of a row differ from the reviewed source; '' where none does."""
        if self.reviewer is None:
            return ""
        changes = [change for change in row.patch.changes if self.applies(change, row)]
        return self.reviewer.words(row, changes)

    def applies(self, change: Change, row: Row) -> bool:
        """Whether the requirements of one change hold."""
        return self._unmet(change.requires, row) is None

    def _not_for_here(self, row: Row) -> str | None:
        return (
            self._switched_off(row)
            or self._env_unmet(row.patch.env)
            or self._unmet(row.patch.requires, row)
            or self._no_change_left(row)
        )

    def _switched_off(self, row: Row) -> str | None:
        name = row.patch.name
        if name in self.settings.disabled:
            return "disabled by PATCHKIT_DISABLE"
        if self.settings.only is not None and name not in self.settings.only:
            return "not named in PATCHKIT_ONLY"
        return None

    def _env_unmet(self, wanted: str | None) -> str | None:
        if wanted is None:
            return None
        name, equals, value = wanted.partition("=")
        here = self.environ.get(name)
        if here is None:
            return f"{name} is not set"
        return f"{name} is {here!r}, not {value!r}" if equals and here != value else None

    def _unmet(self, requires: Iterable[str], row: Row) -> str | None:
        reasons = (self._reason(text, row) for text in requires)
        return next((reason for reason in reasons if reason), None)

    def _reason(self, text: str, row: Row) -> str | None:
        try:
            return self.versions.unmet(text)
        except VersionError:
            reason = self._reason_by_source(text, row)
            if reason is None:
                raise
            return reason or None

    def _reason_by_source(self, text: str, row: Row) -> str | None:
        """Judge by the reviewed sources; '' where the requirement holds, None where unknown."""
        name = parse_requirement(text).name
        self.versions.believed(name)  # an override that says nothing is an error all the same
        reviewed = self.reviewer.releases(row, canonical(name)) if self.reviewer else None
        holds = holds_between(text, *reviewed) if reviewed else None
        if reviewed is None or holds is None:
            return None
        seen = reviewed[0] if reviewed[0] == reviewed[1] else f"{reviewed[0]} to {reviewed[1]}"
        bounds = written_bounds(text)
        return "" if holds else f"the source of {name} here matches {seen}, outside {bounds}"

    def _no_change_left(self, row: Row) -> str | None:
        reasons = [self._unmet(change.requires, row) for change in row.patch.changes]
        return f"no change applies here: {reasons[0]}" if all(reasons) else None
