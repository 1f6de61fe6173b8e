"""Which two releases a diff compares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.ranges import allows
from patchkit.errors import UpstreamError
from patchkit.versions.version import parse_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.subjects import Subject
    from patchkit.review.lock_format import Lock
    from patchkit.rows.row import Row


def ends(
    row: Row, subjects: Sequence[Subject], lock: Lock, old: str | None, new: str | None
) -> tuple[Subject, Subject]:
    """
    Choose the releases to compare.

    Args:
        row: whose targets are compared.
        subjects: all releases of one distribution, the oldest first.
        lock: what has been reviewed.
        old: the version asked for; else the last reviewed, else the oldest in the row's range.
        new: the version asked for; else the newest in the row's range, or of all where the range
            has nothing newer than `old`.

    Raises:
        UpstreamError: there is no such release, or no newer one.

    """
    inside = [one for one in subjects if allows(row.patch.requires, one.project, one.version)]
    if not inside:
        raise UpstreamError(f"no release of {subjects[0].project} is in the range of {row.name}")
    first = _named(subjects, old) if old else _reviewed(row, subjects, lock) or inside[0]
    last = _named(subjects, new) if new else inside[-1]
    return first, last if new or last is not first else subjects[-1]


def _named(subjects: Sequence[Subject], version: str) -> Subject:
    wanted = parse_version(version)
    for one in subjects:
        if wanted is not None and parse_version(one.version) == wanted:
            return one
    project, last = subjects[0].project, subjects[-1].version
    raise UpstreamError(f"found no release {project} {version}, expected one such as {last}")


def _reviewed(row: Row, subjects: Sequence[Subject], lock: Lock) -> Subject | None:
    """Return the newest release in which any of the row's targets was reviewed."""
    spans = [one for several in lock.entries.get(row.name, {}).values() for one in several]
    versions = {one.last for one in spans if one.project == subjects[0].project}
    return next((one for one in reversed(subjects) if one.version in versions), None)
