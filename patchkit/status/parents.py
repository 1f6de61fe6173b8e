"""Which process belongs to which: by what parents wrote of their children, Ray, and parent pids."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchkit.status.process_status import ChildStart, ProcessStatus

    Claim = tuple[ProcessStatus, ChildStart]
    ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]


def one_each(processes: Iterable[ProcessStatus]) -> list[ProcessStatus]:
    """
    Keep one of each process, the oldest first.

    A process that executed another program has two journals, of which the later counts. One with
    an old pid is another. Patchkit's own commands are not what anybody asks for.
    """
    latest: dict[object, ProcessStatus] = {}
    for process in sorted(processes, key=lambda process: process.started):
        # Two of which nobody knows when they began are two.
        life = (process.began, process.started if process.began is None else 0)
        latest[process.host, process.pid, life] = process
    kept = (process for process in latest.values() if not _is_own(process))
    return sorted(kept, key=lambda process: process.started)


def _is_own(process: ProcessStatus) -> bool:
    words = process.argv[:2]
    if words[:2] == ["-m", "patchkit"]:
        return True
    path = PurePath(words[0]) if words else PurePath()
    return path.name == "patchkit" or path.parts[-2:] == ("patchkit", "__main__.py")


def by_pid(processes: Iterable[ProcessStatus]) -> dict[tuple[str, int], list[ProcessStatus]]:
    """Index processes; those with one pid are in the order in which they started."""
    index: dict[tuple[str, int], list[ProcessStatus]] = {}
    for process in processes:
        index.setdefault((process.host, process.pid), []).append(process)
    return index


def link(processes: Sequence[ProcessStatus]) -> list[Claim]:
    """Give every process its parent; return each child without a journal, with who tells of it."""
    known = by_pid(processes)
    missing: list[Claim] = []
    claims: dict[ProcessStatus, Claim] = {}
    for parent in processes:
        for child in parent.children:
            same_pid = known.get((parent.host, child.pid))
            if not same_pid:
                missing.append((parent, child))
                continue
            process = min(same_pid, key=lambda one: abs(one.started - child.time))
            if process is not parent:  # no process is its own child, whatever its journal says
                missing += _claim(claims, process, (parent, child))
    for process in processes:
        _give_parent(process, claims.get(process), known)
    return missing


def _claim(claims: dict[ProcessStatus, Claim], process: ProcessStatus, claim: Claim) -> list[Claim]:
    """Of two children with one pid, the nearer in time is the process; the other is missing."""
    rivals = [claims[process], claim] if process in claims else [claim]
    claims[process], *missing = sorted(rivals, key=lambda one: abs(process.started - one[1].time))
    return missing


def _give_parent(process: ProcessStatus, claim: Claim | None, known: ByPid) -> None:
    if claim is not None:
        process.name = claim[1].name
        if process.rank is None and "worker" in process.roles:
            process.rank = rank_of_name(process.name)
    candidates = [claim[0]] if claim else []
    asked_host, _, asked_pid = (process.asked_by or "").rpartition(":")
    if asked_pid.isdecimal() and len(asked_pid) < 10:
        candidates += _before(process, known.get((asked_host, int(asked_pid)), ()))
    candidates += _before(process, known.get((process.host, process.ppid), ()))
    parents = (parent for parent in candidates if not _descends(parent, process))
    process.parent = next(parents, None)


def _before(process: ProcessStatus, parents: Sequence[ProcessStatus]) -> list[ProcessStatus]:
    return [parent for parent in parents if parent.started <= process.started][-1:]


def _descends(process: ProcessStatus | None, ancestor: ProcessStatus) -> bool:
    while process is not None:
        if process is ancestor:
            return True
        process = process.parent
    return False


def rank_of_name(name: str) -> int | None:
    """Read the rank from vLLM's name of a worker process, `VllmWorker-3`."""
    rank = name.removeprefix("VllmWorker-")
    return int(rank) if rank != name and rank.isdecimal() and len(rank) < 10 else None
