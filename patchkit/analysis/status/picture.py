"""Makes a picture of all processes: their tree, whether they agree, and what needs attention."""

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
from patchkit.core.engines.entry_points import own_processes
from patchkit.core.record import grouped
from patchkit.core.rows.processes import ProcessTable

Running = dict[str, dict[int, dict[str, Any]]]
"""By host and pid, what `node.look` returns for a running process."""
ByPid = Mapping[tuple[str, int], Sequence[ProcessStatus]]
"""By host and pid, the processes that had this pid, the oldest first."""

_MOST_DIGITS = 10  # of a rank or pid; a damaged journal may have longer numbers
_PATIENCE = 10.0
"""Seconds after its start for which a running child may have no journal yet."""


class Claim(NamedTuple):
    """An entry in the journal of a process that it has started a child.

    Args:
        parent: The process.
        child: The entry: pid, name, role and time.
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
        now: The time of the picture by the clock of the nodes, in seconds since the epoch.
        run: The `patchkit run` that started the processes; None if that is not known.
    """

    processes: list[ProcessStatus] = field(default_factory=list)
    agreement: dict[str, bool] = field(default_factory=dict)
    findings: list[ProcessFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    journals: list[str] = field(default_factory=list)
    now: float = 0
    run: Run | None = None

    def children(self) -> dict[ProcessStatus | None, list[ProcessStatus]]:
        """Return the processes by parent; the key None has those without a parent."""
        return grouped((process.parent, process) for process in self.processes)


def draw(nodes: Sequence[NodeFacts], table: ProcessTable | None = None) -> Picture:
    """Make the picture of all nodes.

    Args:
        nodes: What `node.look` returned for each node.
        table: How processes are recognized; None for the rows of patchkit and its packs.

    Returns:
        The picture; without processes and findings, it has one finding of kind `empty`.
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
    """List the processes of all journals, and those that should have written one."""
    processes = _processes_of_journals(nodes)
    running = _running(nodes)
    for process in processes:
        process.alive = _is_alive(process, running)
    unfulfilled = _set_parents(processes)  # the claims of children that left no journal
    _add_calls_of_copies(processes)
    processes += _without_journal(unfulfilled, running, now)
    processes += _unknown_processes(processes, running, table)
    for node in nodes:
        compare_bodies(processes, node)
    return processes


def _processes_of_journals(nodes: Iterable[NodeFacts]) -> list[ProcessStatus]:
    """Read the processes of all journals, the oldest first."""
    journals: dict[str, bytes] = {}
    for node in nodes:  # nodes that share a directory list the same journals
        journals.update(node.get("journals", {}))
    parsed = (parse_journal(name, data) for name, data in journals.items())
    return _distinct(filter(None, parsed))


def _running(nodes: Iterable[NodeFacts]) -> Running:
    """Collect the running processes of the nodes that list them."""
    running: Running = {}
    for node in nodes:
        if node.get("processes") is not None:
            running.setdefault(node["host"], {}).update(node["processes"])
    return running


def _is_alive(process: ProcessStatus, running: Running) -> bool | None:
    """Whether a process still runs; None if its node does not list running processes."""
    if process.host not in running:
        return None
    facts = running[process.host].get(process.pid)
    if facts is None:
        return False
    # If it began at another time, another process has got the pid since.
    return process.began is None or process.began == facts["began"]


def _without_journal(
    claims: Iterable[Claim], running: Running, now: float
) -> Iterator[ProcessStatus]:
    """Yield a process for each claimed child, which has no journal; a new one may write it yet."""
    for parent, child in claims:
        alive = None
        if parent.host in running:
            alive = child.pid in running[parent.host]
        is_starting = alive is True and now - child.time < _PATIENCE
        reason = "was started and left no journal"
        if is_starting:
            reason = "was started and has no journal yet"
        roles = child.role.split(",") if child.role else []
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


def _unknown_processes(
    processes: Iterable[ProcessStatus], running: Running, table: ProcessTable
) -> list[ProcessStatus]:
    """Return a process for each running one with an engine, no journal, and no parent's claim."""
    by_pid = _by_pid(process for process in processes if process.alive)
    unknown = []
    for host, local_processes in running.items():
        for pid, facts in local_processes.items():
            if facts["engine"] and (host, pid) not in by_pid:
                unknown.append(_unknown_process(host, pid, facts, table))
    by_pid.update(_by_pid(unknown))  # their parents may be unknown, too
    for process in unknown:
        parents = by_pid.get((process.host, process.ppid))
        if parents:
            process.parent = parents[-1]
    return unknown


def _unknown_process(
    host: str, pid: int, facts: Mapping[str, Any], table: ProcessTable
) -> ProcessStatus:
    """Return the process for facts of `node.look`; its title may show its role."""
    reason = f"has {facts['engine']} loaded, without a journal"
    if facts["environ"].get("PATCHKIT", "").strip() == "0":
        reason = f"has {facts['engine']} loaded, PATCHKIT=0 in its environment"
    title = facts["title"]
    # The title may be a process's own, or the name that its parent gave it.
    row = table.by_prefix("title", title) or table.by_prefix("name", title)
    roles: list[str] = []
    if row:
        roles = [str(role) for role in sorted(row.roles)]
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
    """Order processes as in a tree: after each one its children, with theirs."""
    siblings = sorted(processes, key=_sibling_key)
    children = grouped((process.parent, process) for process in siblings)
    ordered: list[ProcessStatus] = []
    pending = children.get(None, [])
    while pending:
        process = pending.pop(0)
        ordered.append(process)
        pending[:0] = children.get(process, [])  # they come before its siblings
    return ordered


def _sibling_key(process: ProcessStatus) -> tuple[bool, int, float, int]:
    """Return the sort key of siblings: forked copies last, then by rank, start and pid."""
    rank = -1 if process.rank is None else process.rank
    return process.is_copy, rank, process.started, process.pid


def _notes(nodes: Iterable[NodeFacts], picture: Picture) -> list[str]:
    """Say which nodes list no processes, and which journals are incomplete."""
    hosts: dict[str, None] = {}  # each once, also if looked at for several directories
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

    A process that has executed another program (`exec`) has two journals, and the later one counts.
    A process with the pid of an earlier one is another process.
    """
    latest: dict[object, ProcessStatus] = {}
    for process in sorted(processes, key=lambda process: process.started):
        # A pid and `began` identify a process. Without `began`, each journal counts as one.
        started = process.started if process.began is None else 0.0
        latest[process.host, process.pid, process.began, started] = process
    distinct = (process for process in latest.values() if not _is_own_command(process))
    return sorted(distinct, key=lambda process: process.started)


def _is_own_command(process: ProcessStatus) -> bool:
    """Whether a process is a command of patchkit, such as `python -m patchkit status`."""
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


def _set_parents(processes: Sequence[ProcessStatus]) -> list[Claim]:
    """Set the parent of every process; return the claims to which no process could be awarded."""
    by_pid = _by_pid(processes)
    unfulfilled: list[Claim] = []
    claims: dict[ProcessStatus, Claim] = {}
    for parent in processes:
        for child in parent.children:
            claim = Claim(parent, child)
            candidates = by_pid.get((parent.host, child.pid))
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


def _add_calls_of_copies(processes: Iterable[ProcessStatus]) -> None:
    """Count the calls in forked copies as calls in their originals, with which they are shown."""
    for process in processes:
        owner = process.original
        if owner is None:
            continue
        for name, patch in process.patches.items():
            if name not in owner.patches:
                continue
            for target, effect in patch.effects.items():
                if effect == CALLED:
                    owner.patches[name].effects[target] = CALLED


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
            process.rank = _rank_of_name(process.name)
        candidates.append(claim.parent)
    host, _, pid = (process.asked_by or "").rpartition(":")  # "node-1:4312"
    if _is_number(pid):
        candidates += _latest_before(process, by_pid.get((host, int(pid)), ()))
    candidates += _latest_before(process, by_pid.get((process.host, process.ppid), ()))
    for parent in candidates:
        if not _descends(parent, process):  # else the tree would have a circle
            process.parent = parent
            return


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


def _rank_of_name(name: str) -> int | None:
    """Return the rank in the name of a vLLM worker, 0 in `VllmWorker-0`; None for other names."""
    prefix, _, rank = name.partition("VllmWorker-")
    if prefix or not _is_number(rank):
        return None
    return int(rank)


def _is_number(text: str) -> bool:
    """Whether a text can be a rank or a pid."""
    return text.isdecimal() and len(text) < _MOST_DIGITS
