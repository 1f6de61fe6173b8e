"""Rows and versions as `list`, `show` and `doctor` tell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patchkit.errors import VersionError
from patchkit.rows.declaration import Role
from patchkit.versions.requirements import parse_requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.rows.declaration import Change, Row
    from patchkit.rows.selection import Selection
    from patchkit.versions.requirements import FoundVersion


def reason_to_skip(row: Row, selection: Selection) -> str | None:
    """Say why a row does not apply here; None where it does."""
    try:
        return selection.reason_to_skip(row)
    except VersionError as error:
        return str(error)


def distribution(requirement: str) -> str:
    """Name the distribution of a requirement."""
    return parse_requirement(requirement).name


def distributions(rows: Iterable[Row]) -> list[str]:
    """Name the distributions that rows require, in order of mention."""
    texts = [
        text
        for row in rows
        for part in (row.patch.requires, *(change.requires for change in row.patch.changes))
        for text in part
    ]
    return list(dict.fromkeys(map(distribution, texts)))


def version_data(found: FoundVersion | None) -> dict[str, str | None]:
    """Write a version for JSON."""
    if found is None:
        return {"version": None, "source": None}
    return {"version": found.version, "source": found.source}


def row_data(row: Row, reason: str | None) -> dict[str, Any]:
    """Write what a row declares, and whether it applies here, for JSON."""
    return {
        "name": row.name,
        "pack": row.pack,
        "body": row.body if row.patch.body is not None else None,
        "roles": [str(role) for role in Role if role in row.roles],
        "requires": list(row.patch.requires),
        "changes": [change_data(change) for change in row.patch.changes],
        "selected": reason is None,
        "reason": reason,
        "when": row.patch.when,
        "why": row.patch.why,
        "upstream": row.patch.upstream,
        "sunset": row.patch.sunset,
    }


def change_data(change: Change) -> dict[str, Any]:
    """Write what a change declares for JSON."""
    return {
        "kind": change.kind,
        "target": str(change.place),
        "requires": list(change.requires),
        "when": change.when,
    }
