"""What a class inherits, which its own fingerprint leaves out: whether that has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.findings import Finding
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit.check.grid import Grid
    from patchkit.check.spans import Place
    from patchkit.check.subjects import Subject
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target


def of_bases(row: Row, grid: Grid, place: Place) -> Iterator[Finding]:
    """
    Find classes that stay the same from one release to the next while a base of theirs changes.

    Args:
        row: whose targets.
        grid: the releases that are looked at, the oldest first.
        place: file and line of the row.

    """
    last: dict[tuple[str, Target], Subject] = {}
    for subject in grid.subjects:
        for target in dict.fromkeys(one.place for one in grid.due(row, subject)):
            before = last.get((subject.project, target))
            last[subject.project, target] = subject
            names = _changed(target, before, subject) if before else []
            if before and names:
                message = f"{', '.join(names)}, from which it derives, differs from {before.name}"
                fix = f"patchkit history {names[0]} --releases '{subject.project}'"
                where = (row.name, str(target), subject.name, *place)
                yield Finding(codes.BASE_CHANGED, message, fix, *where)


def _changed(target: Target, before: Subject, after: Subject) -> list[str]:
    try:
        old, new = before.facts(target), after.facts(target)
    except UpstreamError:
        return []
    if old.fingerprint != new.fingerprint:
        return []  # that is said, and both are looked at
    return [name for name, mark in new.bases if (name, mark) not in old.bases]
