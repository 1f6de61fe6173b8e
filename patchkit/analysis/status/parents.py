"""Finds the parent of each process: the one that started it, or asked Ray for it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.status.process_status import ChildStart, ProcessStatus
from patchkit.core.record import grouped

ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]
"""By host and pid, the processes that had this pid, the oldest first."""

_MOST_DIGITS = 10  # of a rank or pid; a damaged journal may have longer numbers


class Claim(NamedTuple):
    """An entry in the journal of a process that it has started a child.

    Args:
        parent: The process.
        child: The entry: pid, name, role and time.
    """

    parent: ProcessStatus
    child: ChildStart


def set_parents(processes: Sequence[ProcessStatus]) -> list[Claim]:
    """Set the parent of every process.

    Args:
        processes: All processes.

    Returns:
        The claims to which no process could be awarded.
    """
    by_pid = by_pid_of(processes)
    unfulfilled: list[Claim] = []
    claims: dict[ProcessStatus, Claim] = {}
    for parent in processes:
        for child in parent.children:
            claim = Claim(parent, child)
            key = (parent.host, child.pid)
            candidates = of_space(parent.space, by_pid.get(key, ()))
            if not candidates:
                unfulfilled.append(claim)
                continue
            # A pid may be used again: the claim is for the process that began nearest in time.
            process = min(candidates, key=lambda process: _distance(process, child))
            # A damaged journal may say so, but no process is its own child.
            if process is parent:
                continue
            refused = _award(claims, process, claim)
            if refused is not None:
                unfulfilled.append(refused)
    for process in processes:
        _set_parent(process, claims.get(process), by_pid)
    return unfulfilled


def by_pid_of(
    processes: Iterable[ProcessStatus],
) -> dict[tuple[str, int], list[ProcessStatus]]:
    """Group processes by host and pid.

    Args:
        processes: The processes, the oldest first.

    Returns:
        The processes that had each pid, the oldest first.
    """
    return grouped(((process.host, process.pid), process) for process in processes)


def _distance(process: ProcessStatus, child: ChildStart) -> float:
    """Return the seconds between the start of a process and the start in its parent's journal."""
    return abs(process.started - child.time)


def _award(
    claims: dict[ProcessStatus, Claim], process: ProcessStatus, claim: Claim
) -> Claim | None:
    """Award a process to the nearest claim in time; return the claim that loses, if any."""
    rival = claims.get(process)
    distance = _distance(process, claim.child)
    if rival is not None and _distance(process, rival.child) <= distance:
        return claim
    claims[process] = claim
    return rival


def _set_parent(process: ProcessStatus, claim: Claim | None, by_pid: ByPid) -> None:
    """Set the parent: who claims the process, else who asked Ray for it, else that of its ppid."""
    candidates: list[ProcessStatus] = []  # the likeliest first
    if claim is not None:
        process.name = claim.child.name  # `VllmWorker-0` has the rank, too
        if process.rank is None and "worker" in process.roles:
            process.rank = rank_of_name(process.name)
        candidates.append(claim.parent)
    host, _, pid = (process.asked_by or "").rpartition(":")  # "node-1:4312"
    if _is_number(pid):
        askers = by_pid.get((host, int(pid)), ())
        if len(askers) == 1 and host != process.host:
            candidates += askers  # the clock of its node may be ahead
        else:
            candidates += _latest_before(process, askers)
    key = (process.host, process.ppid)
    beside = of_space(process.space, by_pid.get(key, ()))
    candidates += _latest_before(process, beside)
    for parent in candidates:
        if not _descends(parent, process):  # else the tree would have a circle
            process.parent = parent
            return


def of_space(space: str, processes: Iterable[ProcessStatus]) -> list[ProcessStatus]:
    """Choose the processes whose pids may be of one pid namespace.

    Args:
        space: The boot and the namespace; "" if they are not known.
        processes: Processes of one host.

    Returns:
        Those whose own namespace is this one, or is not known.
    """
    return [process for process in processes if process.counts_in(space)]


def _latest_before(
    process: ProcessStatus, candidates: Sequence[ProcessStatus]
) -> list[ProcessStatus]:
    """List the last of some processes that started before another one; [] if none did."""
    earlier = [
        candidate for candidate in candidates if candidate.started <= process.started
    ]
    return earlier[-1:]


def _descends(process: ProcessStatus | None, ancestor: ProcessStatus) -> bool:
    """Whether a process is another one, or descends from it."""
    while process is not None:
        if process is ancestor:
            return True
        process = process.parent
    return False


def rank_of_name(name: str) -> int | None:
    """Return the rank in the name of a vLLM worker, 0 in `VllmWorker-0`.

    Args:
        name: The name of a process.

    Returns:
        The rank; None for any other name.
    """
    prefix, _, rank = name.partition("VllmWorker-")
    if prefix or not _is_number(rank):
        return None
    return int(rank)


def _is_number(text: str) -> bool:
    """Whether a text can be a rank or a pid."""
    return text.isdecimal() and len(text) < _MOST_DIGITS
