"""Where a missing target went, looked for once where it is first missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.errors import UpstreamError

if TYPE_CHECKING:
    from patchkit.check.grid import Grid
    from patchkit.check.subjects import Subject
    from patchkit.registry import Row
    from patchkit.target import Target


class Moves:
    """
    The targets of one row that releases lack.

    Args:
        row: whose targets.
        grid: the releases.

    """

    def __init__(self, row: Row, grid: Grid) -> None:
        self._row = row
        self._grid = grid
        self._found: dict[tuple[Target, str], tuple[Target, str] | None] = {}

    def words(self, target: Target, subject: Subject) -> str:
        """Say where a target went that a release lacks, or since when it is there; or ''."""
        old = self._known(target, subject, before=True)
        later = None if old else self._known(target, subject, before=False)
        if later:
            return f"; it is there from {later.name} on"
        key = (target, old.name if old else "")
        if key not in self._found or not self._is_at(self._found[key], subject):
            self._found[key] = self._look(target, subject, old)
        found = self._found[key]
        return f"; {found[1]}" if found else ""

    def _look(
        self, target: Target, subject: Subject, old: Subject | None
    ) -> tuple[Target, str] | None:
        try:
            found = subject.moved(target, old)
        except UpstreamError:
            return None
        finally:
            subject.rest()
            if old:
                old.rest()
        return found

    @staticmethod
    def _is_at(found: tuple[Target, str] | None, subject: Subject) -> bool:
        return found is None or subject.facts(found[0]).is_present

    def _known(self, target: Target, subject: Subject, *, before: bool) -> Subject | None:
        """Return the nearest release that has the target."""
        same = [one for one in self._grid.subjects if one.project == subject.project]
        at = same.index(subject)
        for one in reversed(same[:at]) if before else same[at + 1 :]:
            try:
                if one.facts(target).is_present:
                    return one
            except UpstreamError:
                continue
        return None
