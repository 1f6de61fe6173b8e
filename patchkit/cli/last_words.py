"""What became of the patches of a run, in two lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from patchkit.report.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.status.picture import Picture
    from patchkit.status.process_status import ProcessStatus

_WORST_FIRST = ("failed", "applied", "skipped", "armed")


def last_words(picture: Picture, started: float, how: str) -> tuple[str, ...]:
    """Say what became of the patches in the processes started since; `how` shows more."""
    every = picture.processes
    processes = [process for process in every if (process.started or started) >= started]
    told = [
        finding.message
        for finding in picture.findings
        if finding.process is None or finding.process in processes
    ]
    if not processes:
        return ("no Python process was started that patchkit could reach",)
    tally = f"{_tally(processes)} in {count(len(processes), 'process')}"
    if not told:
        return tally, f"no findings; {how} has the details"
    more = f", and {len(told) - 1} more to look at" if len(told) > 1 else ""
    return tally, f"{told[0]}{more}; see {how}"


def _tally(processes: Iterable[ProcessStatus]) -> str:
    """Count the patches by what became of each, the worst that did in any process."""
    found: dict[str, str] = {}
    for process in processes:
        for patch in process.patches.values():
            if process.is_due(patch):
                several = (process.stand(patch)[0], found.get(patch.name, "armed"))
                found[patch.name] = min(several, key=_WORST_FIRST.index)
    counted = Counter(found.values())
    parts = [f"{counted[status]} {status}" for status in _WORST_FIRST if counted[status]]
    return f"patches: {', '.join(parts) or 'none'}"
