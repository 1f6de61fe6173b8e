"""What became of the patches of a run, in two lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.report.due import is_due

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchkit.report.shapes import ProcessShape, StatusShape

_WORST_FIRST = ("failed", "applied", "skipped", "armed")


def last_words(data: StatusShape, started: float, how: str) -> tuple[str, ...]:
    """
    Say what became of the patches in the processes that a run has started.

    Args:
        data: the facts of `patchkit status`.
        started: when the run was, as `time.time` tells it.
        how: the command that shows more.

    """
    processes = [one for one in data["processes"] if (one["started"] or started) >= started]
    pids = {one["pid"] for one in processes}
    told = [one["message"] for one in data["findings"] if one["pid"] is None or one["pid"] in pids]
    if not processes:
        return ("no Python process was started that patchkit could reach",)
    tally = f"{_tally(processes)} in {_count(len(processes))}"
    if not told:
        return tally, f"no findings; {how} has the details"
    more = f", and {len(told) - 1} more to look at" if len(told) > 1 else ""
    return tally, f"{told[0]}{more}; see {how}"


def _tally(processes: Iterable[ProcessShape]) -> str:
    """Count the patches by what became of each, the worst that did in any process."""
    found: dict[str, str] = {}
    due = (patch for one in processes for patch in one["patches"] if is_due(one, patch))
    for patch in due:
        several = (patch["status"], found.get(patch["name"], "armed"))
        found[patch["name"]] = min(several, key=_WORST_FIRST.index)
    states: Sequence[str] = [*found.values()]
    parts = [f"{states.count(one)} {one}" for one in _WORST_FIRST if one in states]
    return f"patches: {', '.join(parts) or 'none'}"


def _count(number: int) -> str:
    return f"{number} process" if number == 1 else f"{number} processes"
