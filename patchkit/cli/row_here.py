"""One row in full, with what is found here: what `patchkit show` tells."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from patchkit.cli.rows import distribution, reason_to_skip
from patchkit.cli.target_state import state_of
from patchkit.errors import VersionError
from patchkit.report.here import ChangeHere, RequirementHere, ReviewHere, RowHere
from patchkit.review.drift import Look
from patchkit.upstream.here import Here

if TYPE_CHECKING:
    from patchkit.review.lock_files import Locks
    from patchkit.review.lock_format import Lock
    from patchkit.rows.declaration import Change, Row
    from patchkit.rows.selection import Selection
    from patchkit.versions.installed import Versions


def row_here(row: Row, selection: Selection, locks: Locks) -> RowHere:
    """Say how a row stands here."""
    versions, here, lock = selection.versions, Here(), locks.of(row)
    requirements = [
        RequirementHere(text, versions.find(distribution(text)), _unmet(versions, text))
        for text in row.patch.requires
    ]
    changes = [
        ChangeHere(
            change,
            _own_fields(change),
            next(filter(None, (_unmet(versions, text) for text in change.requires)), None),
            state_of(change.place, here),
            _review(row, change, lock, here),
        )
        for change in row.patch.changes
    ]
    return RowHere(row, reason_to_skip(row, selection), requirements, changes, locks.file(row))


def _unmet(versions: Versions, text: str) -> str | None:
    try:
        return versions.unmet(text)
    except VersionError as error:
        return str(error)


def _own_fields(change: Change) -> dict[str, str | int | float | bool | None]:
    """Return what only this kind declares."""
    common = {"requires", "rebind", "when", change.target_field, change.body_field}
    names = (field.name for field in dataclasses.fields(change))
    return {name: _plain(getattr(change, name)) for name in names if name not in common}


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return value.__qualname__ if isinstance(value, type) else repr(value)


def _review(row: Row, change: Change, lock: Lock | None, here: Here) -> ReviewHere | None:
    """Compare the target of a change with what was reviewed."""
    if not change.is_reviewed:
        return None
    if lock is None:
        return ReviewHere("no-lock", "no lock file covers this patch")
    verdict = Look(row.name, lock, here).verdict(change.place)
    return ReviewHere(*verdict, lock.spans(row.name, str(change.place)))
