"""Expresses the times in the journals of several nodes by one clock, where the clocks differ."""

from collections.abc import Iterable, Sequence

from patchkit.analysis.status.findings import NodeFacts
from patchkit.analysis.status.process_status import PatchStatus, ProcessStatus
from patchkit.core.record import grouped

_LEAST = 5.0
"""From so many seconds on, a time after that of its file shows another clock, not a slow disk."""
_LEAST_NOTED = 60.0
"""From so many seconds on, a difference is worth a note: nodes are not asked all at once."""

_MOST_NAMED = 5
"""How many nodes with such clocks a note names."""


def common_now(nodes: Sequence[NodeFacts]) -> float | None:
    """Return the time by the clock in the middle of all, which no single wrong clock moves.

    Args:
        nodes: What `node.look` returned for each node.

    Returns:
        Seconds since the epoch; None if no node has told its time.
    """
    moments: list[float] = sorted(node["now"] for node in nodes if node.get("now"))
    if not moments:
        return None
    return moments[len(moments) // 2]


def align(
    processes: Iterable[ProcessStatus], nodes: Sequence[NodeFacts], now: float
) -> list[str]:
    """Move the times of processes to the clock of the picture, and say whose clocks differ.

    A node that was looked at has told its time. Of another one, whose processes write into the same
    folder, only a clock that is ahead can be seen: the last entry is later than the change of its
    file, or than now. A clock that is behind looks like a file that was copied.

    Args:
        processes: The processes, with the times that their journals have.
        nodes: What `node.look` returned for each node.
        now: The time of the picture.

    Returns:
        A note about the nodes whose clocks differ, if there are any.
    """
    nodes_by_host = grouped((node.get("host"), node) for node in nodes)
    seconds_by_host: dict[str, float] = {}
    for process in processes:
        own_nodes = nodes_by_host.get(process.host, [])
        seconds = _seconds_ahead(process, own_nodes, now)
        if seconds:
            _move_times(process, -seconds)
        if abs(seconds) > abs(seconds_by_host.get(process.host, 0)):
            seconds_by_host[process.host] = seconds
    differing = [
        f"{host} {abs(seconds):,.0f} s {'ahead' if seconds > 0 else 'behind'}"
        for host, seconds in seconds_by_host.items()
        if abs(seconds) >= _LEAST_NOTED
    ]
    if not differing:
        return []
    named = differing[:_MOST_NAMED]
    if len(differing) > len(named):
        named.append(f"and {len(differing) - len(named)} more")
    return [
        f"clocks that differ: {', '.join(named)}; times are shown by the clock of this picture"
    ]


def _seconds_ahead(
    process: ProcessStatus, own_nodes: Iterable[NodeFacts], now: float
) -> float:
    """Return how far the clock of a process is ahead; negative if it is behind, 0 if unknown."""
    for node in own_nodes:
        if process.counts_in(node.get("space", "")):
            moment: float = node.get("now", now)
            return moment - now
    latest = _latest_time(process)
    limit = now
    if process.modified is not None:
        limit = min(process.modified, now)
    if latest - limit < _LEAST:
        return 0.0
    return latest - limit


def _latest_time(process: ProcessStatus) -> float:
    """Return the latest time that the journal of a process has; 0 without any."""
    moments = [process.started, process.verified, process.looked, process.glanced]
    moments += [child.time for child in process.children]
    for patch in process.patches.values():
        moments += [patch.time, patch.answered]
    return max(moment or 0 for moment in moments)


def _move_times(process: ProcessStatus, seconds: float) -> None:
    """Add seconds to every time that the journal of a process has."""
    for name in ("started", "verified", "looked", "glanced"):
        _move(process, name, seconds)
    process.children = [
        child._replace(time=child.time + seconds) for child in process.children
    ]
    for patch in process.patches.values():
        _move(patch, "time", seconds)
        _move(patch, "answered", seconds)


def _move(holder: ProcessStatus | PatchStatus, name: str, seconds: float) -> None:
    """Add seconds to a time; None and 0 stay, as nothing has happened then."""
    moment = getattr(holder, name)
    if moment:
        setattr(holder, name, moment + seconds)
