"""Which rows are for this process, and why the others are not."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchkit.declaration import Change
    from patchkit.environment import Settings
    from patchkit.registry import Row
    from patchkit.versions import Versions


class Reviewer(Protocol):
    """Knows what of upstream was reviewed."""

    def words(self, row: Row, changes: Iterable[Change]) -> str:
        """Say which targets of a row are not as they were reviewed; '' where all are."""


@dataclass(frozen=True)
class Selection:
    """
    What the environment and the versions here say of a row.

    Nothing upstream is imported to answer; each answer may raise VersionError, where a version
    says nothing.
    """

    settings: Settings
    versions: Versions
    reviewer: Reviewer | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def reason_to_skip(self, row: Row) -> str | None:
        """Say why a row is not for here, or None if it is."""
        return (
            self._switched_off(row)
            or self._env_unmet(row.patch.env)
            or self._unmet(row.patch.requires)
            or self._no_change_left(row)
            or (self.settings.on_drift == "skip" and self.unreviewed(row))
            or None
        )

    def unreviewed(self, row: Row) -> str:
        """Say which targets of a row are not as they were reviewed; '' where all are."""
        changes = [change for change in row.patch.changes if self.applies(change)]
        return self.reviewer.words(row, changes) if self.reviewer else ""

    def applies(self, change: Change) -> bool:
        """Whether the change's own requirements hold."""
        return self._unmet(change.requires) is None

    def _switched_off(self, row: Row) -> str | None:
        if row.name in self.settings.disabled:
            return "disabled by PATCHKIT_DISABLE"
        if self.settings.only is not None and row.name not in self.settings.only:
            return "not named in PATCHKIT_ONLY"
        return None

    def _env_unmet(self, wanted: str | None) -> str | None:
        if wanted is None:
            return None
        name, equals, value = wanted.partition("=")
        found = self.environ.get(name)
        if found is None:
            return f"{name} is not set"
        return f"{name} is {found!r}, not {value!r}" if equals and found != value else None

    def _unmet(self, requires: Iterable[str]) -> str | None:
        reasons = (self.versions.unmet(text) for text in requires)
        return next((reason for reason in reasons if reason), None)

    def _no_change_left(self, row: Row) -> str | None:
        reasons = [self._unmet(change.requires) for change in row.patch.changes]
        return f"no change is for here: {reasons[0]}" if all(reasons) else None
