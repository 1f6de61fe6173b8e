"""The picture of all processes: their tree, whether they agree, and what there is to look at."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.status.findings import (
    ProcessFinding,
    agreement,
    disagreements,
    findings,
    obstacles,
)
from patchkit.status.journals import parse_journal
from patchkit.status.parents import by_pid, link, one_each, rank_of_name
from patchkit.status.process_status import ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchkit.status.process_status import ChildStart

    Look = Mapping[str, Any]
    Running = dict[str, dict[int, dict[str, Any]]]

_PATIENCE = 10.0
"""Seconds that a child which runs has, from its start, until it must have a journal."""

_TITLES = (
    ("EngineCore", "engine-core"),
    ("VLLM::DPEngineCore", "engine-core"),
    ("VllmWorker", "worker"),
    ("VLLM::Worker", "worker"),
    ("VLLM::EngineCore", "engine-core"),
    ("ray::RayWorker", "worker"),
)


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
        children: dict[ProcessStatus | None, list[ProcessStatus]] = {}
        for process in self.processes:
            children.setdefault(process.parent, []).append(process)
        return children


def draw(looks: Sequence[Look]) -> Picture:
    """Draw the picture of what `node.look` has seen on one or more nodes."""
    # Nodes that share a directory show the same files.
    journals = {name: data for look in looks for name, data in look.get("journals", {}).items()}
    parsed = (parse_journal(name, data) for name, data in journals.items())
    processes = one_each(filter(None, parsed))
    running = _running(looks)
    for process in processes:
        process.alive = _is_alive(process, running)
    now = max((look.get("now", 0) for look in looks), default=time.time())
    processes += _missing(link(processes), running, now)
    processes += _strangers(processes, running)
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
    """Index what runs by host and pid; a host is missing where that is not known."""
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


def _missing(
    missing: Iterable[tuple[ProcessStatus, ChildStart]], running: Running, now: float
) -> Iterator[ProcessStatus]:
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
            rank=rank_of_name(child.name),
            is_reached=False,
            is_starting=is_starting,
            name=child.name,
            reason=f"was started and {'has no journal yet' if is_starting else 'left no journal'}",
            alive=alive,
            parent=parent,
        )


def _strangers(processes: Iterable[ProcessStatus], running: Running) -> list[ProcessStatus]:
    known = by_pid(process for process in processes if process.alive)
    strangers = [
        _stranger(host, pid, seen)
        for host, there in running.items()
        for pid, seen in there.items()
        if seen["vllm"] and (host, pid) not in known
    ]
    known.update(by_pid(strangers))
    for process in strangers:
        process.parent = known.get((process.host, process.ppid), [None])[-1]
    return strangers


def _stranger(host: str, pid: int, seen: Mapping[str, Any]) -> ProcessStatus:
    switched_off = seen["environ"].get("PATCHKIT", "").strip() == "0"
    told = "PATCHKIT=0 in its environment" if switched_off else "without a journal"
    title = seen["title"]
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=seen["ppid"],
        began=seen["began"],
        argv=title.split(),
        roles=[role for start, role in _TITLES if title.startswith(start)][:1],
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
    notes = [
        f"node {look['host']} has no /proc: processes that wrote no journal are not looked for"
        for look in looks
        if look.get("processes") is None and not look.get("error")
    ]
    if cut := [str(process.pid) for process in picture.processes if process.is_cut]:
        notes.append(
            f"journals that reached their limit, and lack what came later: {', '.join(cut)}"
        )
    return notes
