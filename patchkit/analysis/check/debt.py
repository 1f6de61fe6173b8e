"""Tells how old each patch is, which releases need it, and when it may be deleted."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Report, State
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.upstream.reading.commits import first_day
from patchkit.core.rows.declaration import Row

_UPSTREAM_HAS_IT = (codes.MERGED_UPSTREAM, codes.ALREADY_UPSTREAM)


class Debt(NamedTuple):
    """A patch, and which of the checked releases need it; they are named as in `vllm 0.32.0`.

    Args:
        row: the patch's row.
        since: the day of the commit that added it; '' where git does not tell.
        needed: the releases in its range, the oldest first.
        merged: the first release in which upstream has the change; '' where none is known.
        until: the first release after those needed; '' where the newest needs it.
    """

    row: Row
    since: str
    needed: Sequence[str]
    merged: str
    until: str

    @property
    def is_over(self) -> bool:
        """Whether no checked release needs the patch, or one has the change itself."""
        return not self.needed or bool(self.merged)

    @property
    def end(self) -> str:
        """When the patch may be deleted, in words; `open` if the newest release still needs it."""
        if self.merged:
            return f"{self.merged} has it"
        if not self.needed:
            return "now"
        if self.until:
            return f"after {self.needed[-1]}"
        return "open"


def debt_of(row: Row, report: Report) -> Debt:
    """Work out from the report of a check when a patch may be deleted.

    Args:
        row: the patch's row.
        report: the report on its pack.

    Returns:
        The debt.
    """
    states = report.grid.get(row.name, {})
    needed = [
        release for release, state in states.items() if state is not State.OUT_OF_RANGE
    ]
    # The releases in which a finding says that upstream has the patch's change.
    merged = [
        finding.release
        for finding in report.findings
        if finding.patch == row.name and finding.code in _UPSTREAM_HAS_IT
    ]
    return Debt(
        row=row,
        since=_first_day(row),
        needed=needed,
        merged=min(merged, key=report.releases.index, default=""),
        until=_following(needed, states),
    )


def _first_day(row: Row) -> str:
    """Find the day on which the row was committed, else its body; '' where git does not tell."""
    pack = PackSource(row.pack)
    file, _ = pack.row_place(row.name)
    day = first_day(Path(file), row.name)
    body = pack.bodies.get(row.patch.body or "")
    if not day and body:
        day = first_day(body)
    return day


def _following(needed: Sequence[str], releases: Iterable[str]) -> str:
    """Find the release of the same distribution after the last that is needed; '' for none."""
    if not needed:
        return ""
    last = needed[-1]
    # Releases of several distributions may be mixed, such as of vllm and transformers.
    of_project = [
        release for release in releases if _project(release) == _project(last)
    ]
    later = of_project[of_project.index(last) + 1 :]
    if not later:
        return ""
    return later[0]


def _project(release: str) -> str:
    """Return the distribution of a release, `vllm` of `vllm 0.32.0`."""
    return release.partition(" ")[0]
