"""Where missing targets went, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.near import meant
from patchkit.check.subjects import learn_all
from patchkit.check.trails import Trails
from patchkit.rows.declaration import Add, Provide

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.check.grid import Grid
    from patchkit.check.subjects import Subject
    from patchkit.rows.target import Target


class Moves:
    """
    The targets that releases lack of those that rows change in them.

    All are looked for together: each release is searched once, several at a time.

    Args:
        grid: rows and releases that can be read.

    """

    def __init__(self, grid: Grid) -> None:
        self._projects = _by_project(grid.subjects)
        self._first: dict[tuple[Target, str], Subject | None] = {}
        self._trails = {
            project: _followed(subjects, grid) for project, subjects in self._projects.items()
        }

    def words(self, target: Target, subject: Subject) -> str:
        """Say where a target went that a release lacks, or since when it is there; or ''."""
        since = self._since(target, subject.project)
        same = self._projects[subject.project]
        if since and same.index(since) > same.index(subject):
            return f"; it is there from {since.name} on"
        told = self._trails[subject.project].told(target, subject)
        if told and told.words:
            return f"; {told.words}"
        return "" if since else meant(target, subject)

    def _since(self, target: Target, project: str) -> Subject | None:
        """Return the first release that has a target."""
        if (target, project) not in self._first:
            having = (one for one in self._projects[project] if one.has(target))
            self._first[target, project] = next(having, None)
        return self._first[target, project]


def _by_project(subjects: Sequence[Subject]) -> dict[str, list[Subject]]:
    found: dict[str, list[Subject]] = {}
    for one in subjects:
        found.setdefault(one.project, []).append(one)
    return found


def _followed(subjects: Sequence[Subject], grid: Grid) -> Trails:
    """Learn what is missed anywhere in all releases, and follow it from the older to the newer."""
    wanted = {target for one in subjects for target in _missing(one, grid)}
    learn_all(subjects, lambda _: wanted)
    trails = Trails(subjects, sorted(wanted, key=str), ways=(1,), by_name=True)
    trails.follow()
    return trails


def _missing(subject: Subject, grid: Grid) -> Iterator[Target]:
    """List what a release should have and lacks."""
    for row in grid.rows:
        for change in grid.due(row, subject):
            if not isinstance(change, (Add, Provide)) and subject.lacks(change.place):
                yield change.place
