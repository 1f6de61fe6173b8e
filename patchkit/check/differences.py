"""What upstream changed in the targets of patches, release by release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.comparison import compare
from patchkit.check.grid import Grid
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.subjects import Subject
    from patchkit.lock import Lock
    from patchkit.registry import Row
    from patchkit.target import Target


def differences(
    rows: Sequence[Row], subjects: Sequence[Subject], lock: Lock
) -> dict[tuple[str, str], str]:
    """
    Compare each release with the last reviewed one before it, or with the one before it.

    Args:
        rows: whose targets.
        subjects: the releases, by distribution, the oldest first.
        lock: what has been reviewed.

    Returns:
        Unified diffs, by the names of patch and release; only where there is a difference. A
        release that cannot be read has none.

    """
    grid = Grid(rows, subjects)
    found: dict[tuple[str, str], str] = {}
    for row in rows:
        last: dict[Target, Subject] = {}
        for subject in subjects:
            try:
                texts = list(_of_release(row, subject, grid, last, lock))
            except UpstreamError:
                continue
            if any(texts):
                found[row.name, subject.name] = "\n".join(filter(None, texts))
    return found


def _of_release(
    row: Row, subject: Subject, grid: Grid, last: dict[Target, Subject], lock: Lock
) -> list[str]:
    texts = []
    for place in dict.fromkeys(one.place for one in grid.due(row, subject) if one.is_reviewed):
        mark = subject.facts(place).fingerprint
        old = last.get(place)
        if old and old.project == subject.project and old.facts(place).fingerprint != mark:
            texts.append(compare(place, old, subject).diff)
            old.rest()
            subject.rest()
        known = lock.fingerprints(row.name, str(place))
        if mark and (not known or mark in known):
            last[place] = subject
    return texts
