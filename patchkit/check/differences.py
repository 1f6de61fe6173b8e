"""What upstream changed in the targets of patches, release by release."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from patchkit.check.comparison import compare
from patchkit.check.grid import Grid
from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.review.lock_format import Lock
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target


class Difference(NamedTuple):
    """
    What upstream changed in a target of a patch.

    Args:
        patch: its name.
        releases: those that show it, the oldest first.
        text: a unified diff, to the oldest of them.

    """

    patch: str
    releases: tuple[str, ...]
    text: str


def differences(rows: Sequence[Row], subjects: Sequence[Subject], lock: Lock) -> list[Difference]:
    """
    Compare each release with the last reviewed one before it, or with the one before it.

    A release that cannot be read shows nothing.

    Args:
        rows: whose targets.
        subjects: the releases, by distribution, the oldest first.
        lock: what has been reviewed.

    """
    grid = Grid(rows, subjects)
    found: dict[tuple[str, Target, str], Difference] = {}
    for row in rows:
        last: dict[Target, Subject] = {}
        for subject in subjects:
            with contextlib.suppress(UpstreamError):
                for place, text in _of_release(row, subject, grid, last, lock):
                    key = (row.name, place, text.split("\n", 2)[-1])  # the head names releases
                    old = found.get(key, Difference(row.name, (), text))
                    found[key] = old._replace(releases=(*old.releases, subject.name))
    return list(found.values())


def _of_release(
    row: Row, subject: Subject, grid: Grid, last: dict[Target, Subject], lock: Lock
) -> Iterator[tuple[Target, str]]:
    for place in dict.fromkeys(one.place for one in grid.due(row, subject) if one.is_reviewed):
        mark = subject.facts(place).fingerprint
        old = last.get(place)
        if old and old.project == subject.project and old.facts(place).fingerprint != mark:
            if text := compare(place, old, subject).diff:
                yield place, text
            old.rest()
            subject.rest()
        known = lock.fingerprints(row.name, str(place))
        if mark and (not known or mark in known):
            last[place] = subject
