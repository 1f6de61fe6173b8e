"""The picture of all processes: their tree, whether they agree, and what there is to look at."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from patchkit.analysis.status.findings import (
    ProcessFinding,
    agreement,
    disagreements,
    findings,
    obstacles,
)
from patchkit.analysis.status.journals import parse_journal
from patchkit.analysis.status.process_status import ChildStart, ProcessStatus
from patchkit.core.record import grouped
from patchkit.core.rows.processes import ProcessTable
from patchkit.registry import own_processes

Look = Mapping[str, Any]
Running = dict[str, dict[int, dict[str, Any]]]
Claim = tuple[ProcessStatus, ChildStart]
ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]

_PATIENCE = 10.0
"""Seconds that a child which runs has, from its start, until it must have a journal."""


@dataclass
class Picture:
    """All processes of some journals, each after its parent, the oldest first."""

    processes: list[ProcessStatus] = field(default_factory=list)
    agreement: dict[str, bool] = field(default_factory=dict)  # by role, within each engine
    findings: list[ProcessFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what else a reader should know
    journals: list[str] = field(default_factory=list)  # the directories that were looked at
    now: float = 0  # by the clock of the nodes; seconds since the epoch

    def children(self) -> dict[ProcessStatus | None, list[ProcessStatus]]:
        """Index the processes by their parents; those without one are under None."""
        return grouped((process.parent, process) for process in self.processes)


def draw(looks: Sequence[Look], table: ProcessTable | None = None) -> Picture:
    """Draw the picture of what `node.look` has seen; `table` tells how processes are known."""
    # Nodes that share a directory show the same files.
    journals = {name: data for look in looks for name, data in look.get("journals", {}).items()}
    parsed = (parse_journal(name, data) for name, data in journals.items())
    processes = _one_each(filter(None, parsed))
    running = _running(looks)
    for process in processes:
        process.alive = _is_alive(process, running)
    now = max((look.get("now", 0) for look in looks), default=time.time())
    processes += _missing(_link(processes), running, now)
    processes += _strangers(processes, running, table or ProcessTable(own_processes()))
    differing = list(disagreements(processes))
    agreeing = agreement(processes, {role for role, _ in differing})
    picture = Picture(_in_order(processes), agreeing, now=now)
    differences = (finding for _, finding in differing)
    picture.findings = [*findings(picture.processes), *differences, *obstacles(looks)]
    picture.notes = _notes(looks, picture)
    picture.journals = list(dict.fromkeys(filter(None, (look.get("directory") for look in looks))))
    if not picture.processes and not picture.findings:
        where = ", ".join(picture.journals)
        message = f"no process has written a journal in {where}: nothing is patched there"
        picture.findings = [ProcessFinding("empty", message)]
    return picture


def _running(looks: Iterable[Look]) -> Running:
    running: Running = {}
    for look in looks:
        if look.get("processes") is not None:
            running.setdefault(look["host"], {}).update(look["processes"])
    return running


def _is_alive(process: ProcessStatus, running: Running) -> bool | None:
    if process.host not in running:
        return None
    seen = running[process.host].get(process.pid)
    return seen is not None and process.began in {None, seen["began"]}


def _missing(missing: Iterable[Claim], running: Running, now: float) -> Iterator[ProcessStatus]:
    """Make processes of the children that left no journal; those that begin just now may yet."""
    for parent, child in missing:
        here = running.get(parent.host)
        alive = None if here is None else child.pid in here
        is_starting = bool(alive) and now - child.time < _PATIENCE
        yield ProcessStatus(
            host=parent.host,
            pid=child.pid,
            ppid=parent.pid,
            started=child.time,
            roles=[child.role] if child.role else [],
            rank=_rank_of_name(child.name),
            is_reached=False,
            is_starting=is_starting,
            name=child.name,
            reason=f"was started and {'has no journal yet' if is_starting else 'left no journal'}",
            alive=alive,
            parent=parent,
        )


def _strangers(
    processes: Iterable[ProcessStatus], running: Running, table: ProcessTable
) -> list[ProcessStatus]:
    known = _by_pid(process for process in processes if process.alive)
    strangers = [
        _stranger(host, pid, seen, table)
        for host, there in running.items()
        for pid, seen in there.items()
        if seen["vllm"] and (host, pid) not in known
    ]
    known.update(_by_pid(strangers))
    for process in strangers:
        process.parent = known.get((process.host, process.ppid), [None])[-1]
    return strangers


def _stranger(host: str, pid: int, seen: Mapping[str, Any], table: ProcessTable) -> ProcessStatus:
    switched_off = seen["environ"].get("PATCHKIT", "").strip() == "0"
    told = "PATCHKIT=0 in its environment" if switched_off else "without a journal"
    title = seen["title"]
    row = table.beginning("title", title) or table.beginning("name", title)
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=seen["ppid"],
        began=seen["began"],
        argv=title.split(),
        roles=[str(row.role)] if row and row.role else [],
        is_reached=False,
        name=title,
        reason=f"has vLLM loaded, {told}",
        alive=True,
    )


def _in_order(processes: list[ProcessStatus]) -> list[ProcessStatus]:

    def place(process: ProcessStatus) -> tuple[bool, int, float, int]:
        rank = -1 if process.rank is None else process.rank
        return process.is_copy, rank, process.started, process.pid

    children = Picture(sorted(processes, key=place)).children()
    ordered: list[ProcessStatus] = []
    waiting = children.get(None, [])
    while waiting:
        ordered.append(waiting.pop(0))
        waiting[:0] = children.get(ordered[-1], [])
    return ordered


def _notes(looks: Iterable[Look], picture: Picture) -> list[str]:
    dark = (one for one in looks if one.get("processes") is None and not one.get("error"))
    notes = [
        f"node {host} has no /proc: processes that wrote no journal are not looked for"
        for host in dict.fromkeys(look["host"] for look in dark)  # several journals, told once
    ]
    if cut := [str(process.pid) for process in picture.processes if process.is_cut]:
        lacking = "journals that reached their limit, and lack what came later"
        notes.append(f"{lacking}: {', '.join(cut)}")
    return notes


def _one_each(processes: Iterable[ProcessStatus]) -> list[ProcessStatus]:
    # A process that executed another program has two journals, of which the later counts. One with
    # an old pid is another. Patchkit's own commands are not what anybody asks for.
    latest: dict[object, ProcessStatus] = {}
    for process in sorted(processes, key=lambda process: process.started):
        # Two of which nobody knows when they began are two.
        life = (process.began, process.started if process.began is None else 0)
        latest[process.host, process.pid, life] = process
    kept = (process for process in latest.values() if not _is_own(process))
    return sorted(kept, key=lambda process: process.started)


def _is_own(process: ProcessStatus) -> bool:
    words = process.argv[:2]
    path = PurePath(*words[:1])
    is_main = words == ["-m", "patchkit"] or path.parts[-2:] == ("patchkit", "__main__.py")
    return is_main or path.name == "patchkit"


def _by_pid(processes: Iterable[ProcessStatus]) -> dict[tuple[str, int], list[ProcessStatus]]:
    return grouped(((process.host, process.pid), process) for process in processes)


def _link(processes: Sequence[ProcessStatus]) -> list[Claim]:
    """Give every process its parent; return each child without a journal, with who tells of it."""
    known = _by_pid(processes)
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
            process.rank = _rank_of_name(process.name)
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


def _rank_of_name(name: str) -> int | None:
    rank = name.removeprefix("VllmWorker-")  # as vLLM names them
    return int(rank) if rank != name and rank.isdecimal() and len(rank) < 10 else None
