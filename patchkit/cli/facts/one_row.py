"""Facts of `patchkit show`: one row in full, with what is found here."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from patchkit.cli.facts.review import Review
from patchkit.cli.facts.rows import change_facts, distribution, patch_facts, version_here
from patchkit.cli.facts.target_state import state_of
from patchkit.errors import VersionError
from patchkit.upstream.here import Here

if TYPE_CHECKING:
    from patchkit.report.shapes import FullChangeShape, RequirementShape, ShowShape
    from patchkit.review.lock_files import Locks
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection
    from patchkit.versions.installed import Versions


def show_facts(row: Row, selection: Selection, locks: Locks) -> ShowShape:
    """
    Say everything that a row declares, and how it stands here.

    Raises:
        LockError: what was reviewed cannot be read.

    """
    patch, versions, here = row.patch, selection.versions, Here()
    review = Review(row, locks.of(row), here)
    return {
        **patch_facts(row, selection),
        "requirements": [_requirement(versions, text) for text in patch.requires],
        "changes": [_full_change(change, versions, here, review) for change in patch.changes],
        "required": patch.required,
        "after": list(patch.after),
        "conflicts": list(patch.conflicts),
        "env": patch.env,
        "when": patch.when,
        "data": list(patch.data),
        "lock": str(file) if (file := locks.file(row)) else None,
    }


def _requirement(versions: Versions, text: str) -> RequirementShape:
    reason = _unmet(versions, text)
    found = version_here(versions, distribution(text))
    return {"requirement": text, **found, "holds": reason is None, "reason": reason}


def _full_change(change: Change, versions: Versions, here: Here, review: Review) -> FullChangeShape:
    reasons = (_unmet(versions, text) for text in change.requires)
    reason = next((reason for reason in reasons if reason), None)
    return {
        **change_facts(change),
        "by": change.body_name,
        "fields": _own_fields(change),
        "rebind": change.rebind if isinstance(change.rebind, bool) else list(change.rebind),
        "selected": reason is None,
        "reason": reason,
        "here": state_of(change.place, here),
        "review": review.of(change),
    }


def _own_fields(change: Change) -> dict[str, str | int | float | bool | None]:
    """Return what only this kind declares."""
    common = {"requires", "rebind", "when", change.target_field, change.body_field}
    names = (field.name for field in dataclasses.fields(change))
    return {name: _plain(getattr(change, name)) for name in names if name not in common}


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, (str, int, float)):
        return value
    return value.__qualname__ if isinstance(value, type) else repr(value)


def _unmet(versions: Versions, text: str) -> str | None:
    try:
        return versions.unmet(text)
    except VersionError as error:
        return str(error)
