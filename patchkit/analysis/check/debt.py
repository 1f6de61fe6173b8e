"""What packs owe: how old each patch is, which releases still need it, and when it may go."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Report, State
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.upstream.reading.commits import first_day
from patchkit.core.rows.declaration import Row

_UPSTREAM_HAS_IT = (codes.MERGED_UPSTREAM, codes.ALREADY_UPSTREAM)


class Debt(NamedTuple):
    """A patch, and what keeps it; releases are those that were checked, such as `vllm 0.32.0`."""

    row: Row
    since: str  # the day of the commit that brought it; '' where git does not tell
    needed: Sequence[str]  # releases in its range, the oldest first
    merged: str  # the first release that has the change itself; '' where none is known to
    until: str  # the first release after those needed; '' where it is needed by the newest

    @property
    def is_over(self) -> bool:
        """Whether it may be deleted, or its range ended."""
        return not self.needed or bool(self.merged)

    @property
    def end(self) -> str:
        """When it may be deleted, in words: after a release that is no longer supported."""
        if self.merged or not self.needed:
            return f"{self.merged} has it" if self.merged else "now"
        return f"after {self.needed[-1]}" if self.until else "open"


def debt_of(row: Row, report: Report) -> Debt:
    """Take what a check of releases has found of a patch together."""
    source, states = PackSource(row.pack), report.grid.get(row.name, {})
    needed = [name for name, state in states.items() if state is not State.OUT_OF_RANGE]
    found = [one for one in report.findings if one.patch == row.name]
    merged = [one.release for one in found if one.code in _UPSTREAM_HAS_IT]
    body = source.bodies.get(row.patch.body or "")
    since = first_day(Path(source.row_place(row.name)[0]), row.name)
    project = needed[-1].partition(" ")[0] if needed else ""
    same = [name for name in states if name.partition(" ")[0] == project]
    later = same[same.index(needed[-1]) + 1 :] if needed else []
    first = min(merged, key=report.releases.index, default="")
    return Debt(row, since or (first_day(body) if body else ""), needed, first, "".join(later[:1]))
