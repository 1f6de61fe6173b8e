"""Which process belongs to which: by what parents wrote of their children, Ray, and parent pids."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchkit.status.process_status import ChildStart, ProcessStatus

    ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]


def one_each(processes: Iterable[ProcessStatus]) -> list[ProcessStatus]:
    """
    Keep one of each process, the oldest first.

    A process that executed another program has two journals, of which the later counts. One with
    an old pid is another. Patchkit's own commands are not what anybody asks for.
    """
    ordered = sorted(processes, key=lambda one: (one.host, one.pid, one.started))
    kept = [
        one
        for _, same_pid in groupby(ordered, lambda one: (one.host, one.pid))
        for one in _latest(list(same_pid))
    ]
    return sorted((one for one in kept if not _is_own(one)), key=lambda one: one.started)


def _latest(same_pid: Sequence[ProcessStatus]) -> Iterator[ProcessStatus]:
    for one, following in zip(same_pid, [*same_pid[1:], None], strict=True):
        if following is None or one.began is None or one.began != following.began:
            yield one


def _is_own(process: ProcessStatus) -> bool:
    words = process.argv[:2]
    if words[:2] == ["-m", "patchkit"]:
        return True
    path = PurePath(words[0]) if words else PurePath()
    return path.name == "patchkit" or path.parts[-2:] == ("patchkit", "__main__.py")


def by_pid(processes: Iterable[ProcessStatus]) -> dict[tuple[str, int], list[ProcessStatus]]:
    """Index processes; those with one pid are in the order in which they started."""
    found: dict[tuple[str, int], list[ProcessStatus]] = {}
    for one in processes:
        found.setdefault((one.host, one.pid), []).append(one)
    return found


def link(processes: Sequence[ProcessStatus]) -> list[tuple[ProcessStatus, ChildStart]]:
    """
    Give every process its parent.

    Returns:
        the children that left no journal, each with the parent that tells of it.

    """
    known = by_pid(processes)
    missing = []
    told: dict[ProcessStatus, tuple[ProcessStatus, ChildStart]] = {}
    for parent in processes:
        for child in parent.children:
            found = _nearest(known.get((parent.host, child.pid), ()), child)
            if found is parent:
                continue  # no process is its own child, whatever its journal says
            if found is None:
                missing.append((parent, child))
            else:
                missing += _claim(told, found, (parent, child))
    for one in processes:
        _give_parent(one, told.get(one), known)
    return missing


def _nearest(candidates: Sequence[ProcessStatus], child: ChildStart) -> ProcessStatus | None:
    return min(candidates, key=lambda one: abs(one.started - child.time), default=None)


def _claim(
    told: dict[ProcessStatus, tuple[ProcessStatus, ChildStart]],
    found: ProcessStatus,
    claim: tuple[ProcessStatus, ChildStart],
) -> list[tuple[ProcessStatus, ChildStart]]:
    """Of two children with one pid, the nearer in time is the process; the other is missing."""
    before = told.get(found)
    if before is None:
        told[found] = claim
        return []
    first, second = sorted((before, claim), key=lambda one: abs(found.started - one[1].time))
    told[found] = first
    return [second]


def _give_parent(
    one: ProcessStatus, claim: tuple[ProcessStatus, ChildStart] | None, known: ByPid
) -> None:
    if claim is not None:
        one.name = claim[1].name
        if one.rank is None and "worker" in one.roles:
            one.rank = rank_of_name(one.name)
    candidates = [claim[0]] if claim else []
    asked_host, _, asked_pid = (one.asked_by or "").rpartition(":")
    if asked_pid.isdecimal() and len(asked_pid) < 10:
        candidates += _before(one, known.get((asked_host, int(asked_pid)), ()))
    candidates += _before(one, known.get((one.host, one.ppid), ()))
    one.parent = next((parent for parent in candidates if not _descends(parent, one)), None)


def _before(one: ProcessStatus, parents: Sequence[ProcessStatus]) -> list[ProcessStatus]:
    """Find the latest that was there when `one` began."""
    return [parent for parent in parents if parent.started <= one.started][-1:]


def _descends(one: ProcessStatus | None, ancestor: ProcessStatus) -> bool:
    while one is not None:
        if one is ancestor:
            return True
        one = one.parent
    return False


def rank_of_name(name: str) -> int | None:
    """Read the rank from vLLM's name of a worker process, `VllmWorker-3`."""
    rank = name.removeprefix("VllmWorker-")
    return int(rank) if rank != name and rank.isdecimal() and len(rank) < 10 else None
