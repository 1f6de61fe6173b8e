"""Draws the picture of all processes: their tree, whether they agree, and what needs attention."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple

from patchkit.analysis.status.findings import (
    NodeFacts,
    ProcessFinding,
    agreement,
    disagreements,
    findings,
    obstacles,
    wrong_roles,
)
from patchkit.analysis.status.journals import parse_journal
from patchkit.analysis.status.patches import compare_bodies
from patchkit.analysis.status.process_status import CALLED, ChildStart, ProcessStatus
from patchkit.analysis.status.runs import Run
from patchkit.core.record import grouped
from patchkit.core.rows.processes import ProcessTable
from patchkit.registry import own_processes

Running = dict[str, dict[int, dict[str, Any]]]
"""By host and pid, what `node.look` returns for a process that runs."""
ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]
"""By host and pid, the processes that had this pid, the oldest first."""

_MOST_DIGITS = 10  # of a rank or a pid; a journal that was tampered with can hold more
_PATIENCE = 10.0
"""Seconds that a child which runs has, from its start, until it must have a journal."""


class Claim(NamedTuple):
    """What a process says of a child that it started.

    Args:
        parent: The process.
        child: The start, as its journal has it.
    """

    parent: ProcessStatus
    child: ChildStart


@dataclass
class Picture:
    """All processes of some journals.

    Args:
        processes: The processes, each after its parent, the oldest first.
        agreement: By role, whether the processes of each engine have the same patches.
        findings: What needs attention.
        notes: What else a reader should know.
        journals: The directories that were looked at.
        now: The time of the look by the clock of the nodes, in seconds since the epoch.
        run: The `patchkit run` that the processes are of; None where that is not known.
    """

    processes: list[ProcessStatus] = field(default_factory=list)
    agreement: dict[str, bool] = field(default_factory=dict)
    findings: list[ProcessFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    journals: list[str] = field(default_factory=list)
    now: float = 0
    run: Run | None = None

    def children(self) -> dict[ProcessStatus | None, list[ProcessStatus]]:
        """Return the processes by their parents; those without one are under None."""
        return grouped((process.parent, process) for process in self.processes)


def draw(nodes: Sequence[NodeFacts], table: ProcessTable | None = None) -> Picture:
    """Draw the picture of all nodes.

    Args:
        nodes: What `node.look` returned for each node.
        table: How processes are recognized; None for the rows of patchkit and its packs.

    Returns:
        The picture; a finding of kind `empty` says that there is nothing to draw.
    """
    if table is None:
        table = ProcessTable(own_processes())
    now = max((node.get("now", 0) for node in nodes), default=time.time())
    processes = _all_processes(nodes, table, now)
    differing = list(disagreements(processes))
    agreeing = agreement(processes, {role for role, _ in differing})
    picture = Picture(_in_order(processes), agreeing, now=now)
    picture.findings += findings(picture.processes)
    picture.findings += wrong_roles(picture.processes, now)
    picture.findings += (finding for _, finding in differing)
    picture.findings += obstacles(nodes)
    picture.notes = _notes(nodes, picture)
    directories = (node.get("directory") for node in nodes)
    picture.journals = list(dict.fromkeys(filter(None, directories)))
    if not picture.processes and not picture.findings:
        shown = ", ".join(picture.journals)
        message = (
            f"no process has written a journal in {shown}: nothing is patched there"
        )
        picture.findings = [ProcessFinding("empty", message)]
    return picture


def _all_processes(
    nodes: Sequence[NodeFacts], table: ProcessTable, now: float
) -> list[ProcessStatus]:
    """List the processes of all journals, and those that should have a journal."""
    processes = _processes_of_journals(nodes)
    running = _running(nodes)
    for process in processes:
        process.alive = _is_alive(process, running)
    claims = _link(processes)
    _count_calls_of_copies(processes)
    processes += _without_journal(claims, running, now)
    processes += _strangers(processes, running, table)
    for node in nodes:
        compare_bodies(processes, node)
    return processes


def _processes_of_journals(nodes: Iterable[NodeFacts]) -> list[ProcessStatus]:
    journals: dict[str, bytes] = {}
    for node in nodes:  # those that share a directory show the same files
        journals.update(node.get("journals", {}))
    parsed = (parse_journal(name, data) for name, data in journals.items())
    return _distinct(filter(None, parsed))


def _running(nodes: Iterable[NodeFacts]) -> Running:
    running: Running = {}
    for node in nodes:
        if node.get("processes") is not None:
            running.setdefault(node["host"], {}).update(node["processes"])
    return running


def _is_alive(process: ProcessStatus, running: Running) -> bool | None:
    """Whether a process still runs; None if its node does not tell which processes run."""
    if process.host not in running:
        return None
    facts = running[process.host].get(process.pid)
    if facts is None:
        return False
    return process.began is None or process.began == facts["began"]


def _without_journal(
    claims: Iterable[Claim], running: Running, now: float
) -> Iterator[ProcessStatus]:
    """Make processes of children that have no journal; those just started may yet write one."""
    for parent, child in claims:
        alive = None
        if parent.host in running:
            alive = child.pid in running[parent.host]
        is_starting = alive is True and now - child.time < _PATIENCE
        reason = "was started and left no journal"
        if is_starting:
            reason = "was started and has no journal yet"
        roles = []
        if child.role:
            roles.append(child.role)
        yield ProcessStatus(
            host=parent.host,
            pid=child.pid,
            ppid=parent.pid,
            started=child.time,
            roles=roles,
            rank=_rank_of_name(child.name),
            is_reached=False,
            is_starting=is_starting,
            name=child.name,
            reason=reason,
            alive=alive,
            parent=parent,
        )


def _strangers(
    processes: Iterable[ProcessStatus], running: Running, table: ProcessTable
) -> list[ProcessStatus]:
    """Make processes of those that have vLLM loaded, and no journal that is known."""
    by_pid = _by_pid(process for process in processes if process.alive)
    strangers = []
    for host, local_processes in running.items():
        for pid, facts in local_processes.items():
            if facts["vllm"] and (host, pid) not in by_pid:
                strangers.append(_stranger(host, pid, facts, table))
    by_pid.update(_by_pid(strangers))
    for process in strangers:
        parents = by_pid.get((process.host, process.ppid))
        if parents:
            process.parent = parents[-1]
    return strangers


def _stranger(
    host: str, pid: int, facts: Mapping[str, Any], table: ProcessTable
) -> ProcessStatus:
    reason = "has vLLM loaded, without a journal"
    if facts["environ"].get("PATCHKIT", "").strip() == "0":
        reason = "has vLLM loaded, PATCHKIT=0 in its environment"
    title = facts["title"]
    row = table.beginning("title", title) or table.beginning("name", title)
    roles = []
    if row and row.role:
        roles.append(str(row.role))
    return ProcessStatus(
        host=host,
        pid=pid,
        ppid=facts["ppid"],
        began=facts["began"],
        argv=title.split(),
        roles=roles,
        is_reached=False,
        name=title,
        reason=reason,
        alive=True,
    )


def _in_order(processes: list[ProcessStatus]) -> list[ProcessStatus]:
    """Order processes so that each comes after its parent, with all that it started behind it."""
    siblings = sorted(processes, key=_sibling_key)
    children = grouped((process.parent, process) for process in siblings)
    ordered: list[ProcessStatus] = []
    pending = children.get(None, [])
    while pending:
        process = pending.pop(0)
        ordered.append(process)
        pending[:0] = children.get(process, [])
    return ordered


def _sibling_key(process: ProcessStatus) -> tuple[bool, int, float, int]:
    rank = process.rank
    if rank is None:
        rank = -1
    return process.is_copy, rank, process.started, process.pid


def _notes(nodes: Iterable[NodeFacts], picture: Picture) -> list[str]:
    hosts: dict[str, None] = {}  # a node that has several journals is told of once
    for node in nodes:
        if node.get("processes") is None and not node.get("error"):
            hosts[node["host"]] = None
    notes = [
        f"node {host} has no /proc: processes that wrote no journal are not looked for"
        for host in hosts
    ]
    cut = [str(process.pid) for process in picture.processes if process.is_cut]
    if cut:
        lacking = "journals that reached their limit, and lack what came later"
        notes.append(f"{lacking}: {', '.join(cut)}")
    return notes


def _distinct(processes: Iterable[ProcessStatus]) -> list[ProcessStatus]:
    """Return each process once, the oldest first, without patchkit's own commands.

    A process that executed another program has two journals, of which the later one counts. One
    that only has the pid of an earlier process is another process.
    """
    latest: dict[object, ProcessStatus] = {}
    for process in sorted(processes, key=lambda process: process.started):
        # Two of which nobody knows when the system started them are two.
        started = 0.0
        if process.began is None:
            started = process.started
        latest[process.host, process.pid, process.began, started] = process
    distinct = (process for process in latest.values() if not _is_own_command(process))
    return sorted(distinct, key=lambda process: process.started)


def _is_own_command(process: ProcessStatus) -> bool:
    if not process.argv:
        return False
    path = PurePath(process.argv[0])
    is_module = process.argv[:2] == ["-m", "patchkit"]
    is_main_file = path.parts[-2:] == ("patchkit", "__main__.py")
    return is_module or is_main_file or path.name == "patchkit"


def _by_pid(
    processes: Iterable[ProcessStatus],
) -> dict[tuple[str, int], list[ProcessStatus]]:
    return grouped(((process.host, process.pid), process) for process in processes)


def _link(processes: Sequence[ProcessStatus]) -> list[Claim]:
    """Set the parent of every process, and return the claims to children without a journal."""
    by_pid = _by_pid(processes)
    unmet: list[Claim] = []
    claims: dict[ProcessStatus, Claim] = {}
    for parent in processes:
        for child in parent.children:
            claim = Claim(parent, child)
            candidates = by_pid.get((parent.host, child.pid))
            if not candidates:
                unmet.append(claim)
                continue
            process = min(candidates, key=lambda process: _distance(process, child))
            # No process is its own child, whatever its journal says.
            if process is parent:
                continue
            loser = _contest(claims, process, claim)
            if loser is not None:
                unmet.append(loser)
    for process in processes:
        _set_parent(process, claims.get(process), by_pid)
    return unmet


def _count_calls_of_copies(processes: Iterable[ProcessStatus]) -> None:
    """Let what a fork has called count for the process that it is a copy of: it is shown there."""
    for process in processes:
        owner = process.original
        if owner is None:
            continue
        for name, patch in process.patches.items():
            if name not in owner.patches:
                continue
            own_effects = owner.patches[name].effects
            for target, effect in patch.effects.items():
                if effect == CALLED:
                    own_effects[target] = CALLED


def _distance(process: ProcessStatus, child: ChildStart) -> float:
    """Return the seconds between the start of a process and the start that a parent reports."""
    return abs(process.started - child.time)


def _contest(
    claims: dict[ProcessStatus, Claim], process: ProcessStatus, claim: Claim
) -> Claim | None:
    """Give a process to the claim that is nearer in time, and return the other if there is one."""
    rival = claims.get(process)
    if rival is not None and _distance(process, rival.child) <= _distance(
        process, claim.child
    ):
        return claim
    claims[process] = claim
    return rival


def _set_parent(process: ProcessStatus, claim: Claim | None, by_pid: ByPid) -> None:
    candidates: list[ProcessStatus] = []
    if claim is not None:
        process.name = claim.child.name
        if process.rank is None and "worker" in process.roles:
            process.rank = _rank_of_name(process.name)
        candidates.append(claim.parent)
    host, _, pid = (process.asked_by or "").rpartition(":")
    if _is_number(pid):
        candidates += _latest_before(process, by_pid.get((host, int(pid)), ()))
    candidates += _latest_before(process, by_pid.get((process.host, process.ppid), ()))
    for parent in candidates:
        if not _descends(parent, process):
            process.parent = parent
            return


def _latest_before(
    process: ProcessStatus, candidates: Sequence[ProcessStatus]
) -> list[ProcessStatus]:
    """Return the last of some processes that started before another one, or nothing."""
    earlier = [
        candidate for candidate in candidates if candidate.started <= process.started
    ]
    return earlier[-1:]


def _descends(process: ProcessStatus | None, ancestor: ProcessStatus) -> bool:
    while process is not None:
        if process is ancestor:
            return True
        process = process.parent
    return False


def _rank_of_name(name: str) -> int | None:
    """Return the rank in the name that vLLM gives a worker, `VllmWorker-0`; None without one."""
    prefix, _, rank = name.partition("VllmWorker-")
    if prefix or not _is_number(rank):
        return None
    return int(rank)


def _is_number(text: str) -> bool:
    """Whether a text can be a rank or a pid."""
    return text.isdecimal() and len(text) < _MOST_DIGITS
