"""Facts of `patchkit list`: the rows, the versions that they ask for, and which are for here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from patchkit.errors import VersionError
from patchkit.rows.declaration import Role

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchkit.report.shapes import ChangeShape, ListShape, PatchShape, VersionShape
    from patchkit.rows.declaration import Change
    from patchkit.rows.row import Row
    from patchkit.rows.selection import Selection
    from patchkit.versions.installed import Versions

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def list_facts(rows: Collection[Row], selection: Selection, role: str | None = None) -> ListShape:
    """
    Say of every row whether it is for here.

    Args:
        rows: in the order to list them.
        selection: what decides.
        role: only rows of this role; the versions are those that any row asks for.

    Raises:
        VersionError: an override is no version. One that is installed and says nothing is only
            the reason why a row is not for here.

    """
    return {
        "versions": versions_here(selection.versions, rows),
        "patches": [
            patch_facts(row, selection) for row in rows if role is None or role in row.roles
        ],
    }


def patch_facts(row: Row, selection: Selection) -> PatchShape:
    """Say what a row declares, and whether it is for here."""
    reason = reason_to_skip(row, selection)
    return {
        "name": row.name,
        "pack": row.pack,
        "body": row.body if row.patch.body is not None else None,
        "roles": [str(role) for role in Role if role in row.roles],
        "requires": list(row.patch.requires),
        "changes": [change_facts(change) for change in row.patch.changes],
        "selected": reason is None,
        "reason": reason,
        "when": row.patch.when,
        "why": row.patch.why,
        "upstream": row.patch.upstream,
        "sunset": row.patch.sunset,
    }


def change_facts(change: Change) -> ChangeShape:
    """Say what a change declares."""
    return {
        "kind": change.kind,
        "target": str(change.place),
        "requires": list(change.requires),
        "when": change.when,
    }


def reason_to_skip(row: Row, selection: Selection) -> str | None:
    """Say why a row is not for here; a version that says nothing is a reason, and says so."""
    try:
        return selection.reason_to_skip(row)
    except VersionError as error:
        return str(error)


def versions_here(versions: Versions, rows: Iterable[Row]) -> dict[str, VersionShape]:
    """Find every distribution that a requirement of these rows names, in order of mention."""
    names = dict.fromkeys(
        distribution(text) for row in rows for text in (*row.patch.requires, *_of_changes(row))
    )
    return {name: version_here(versions, name) for name in names}


def version_here(versions: Versions, name: str) -> VersionShape:
    """
    Find one distribution.

    Raises:
        VersionError: an override is no version.

    """
    found = versions.find(name)
    if found is None:
        return {"version": None, "source": None}
    return {"version": found.version, "source": found.source}


def distribution(requirement: str) -> str:
    """Name the distribution of a requirement that the registry has accepted."""
    match = _NAME.match(requirement)
    return match.group(1) if match else requirement


def _of_changes(row: Row) -> Iterable[str]:
    return (text for change in row.patch.changes for text in change.requires)
