"""Makes a picture of all processes: their tree, whether they agree, and what needs attention."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from patchkit.analysis.collection import no_collection
from patchkit.analysis.status.clocks import align, common_now
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
from patchkit.analysis.status.parents import (
    Claim,
    by_pid_of,
    of_space,
    rank_of_name,
    set_parents,
)
from patchkit.analysis.status.patches import compare_bodies
from patchkit.analysis.status.process_status import CALLED, ProcessStatus
from patchkit.analysis.status.runs import Run
from patchkit.core.engines.entry_points import own_processes
from patchkit.core.record import grouped
from patchkit.core.rows.processes import ProcessTable, is_own_command

Running = dict[str, dict[str, dict[int, dict[str, Any]]]]
"""By host, pid namespace and pid, what `node.look` returns for a running process."""

_PATIENCE = 10.0
"""Seconds after its start for which a running child may have no journal yet."""


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


def draw(
    nodes: Sequence[NodeFacts],
    table: ProcessTable | None = None,
    *,
    running_only: bool = False,
) -> Picture:
    """Make the picture of all nodes.

    Args:
        nodes: What `node.look` returned for each node.
        table: How processes are recognized; None for the rows of patchkit and its packs.
        running_only: Whether to leave out processes that have ended, or that may run elsewhere.

    Returns:
        The picture; without processes and findings, it has one finding of kind `empty`.
    """
    if table is None:
        table = ProcessTable(own_processes())
    now = common_now(nodes) or time.time()
    processes = _processes_of_journals(nodes)
    clock_notes = align(processes, nodes, now)
    running = _running(nodes)
    for process in processes:
        process.alive = _is_alive(process, running)
    if running_only:
        processes = [process for process in processes if process.alive]
    processes = _all_processes(processes, nodes, table, now)
    if running_only:
        # Children that their parents have started, and that have ended without a journal.
        processes = [process for process in processes if process.alive]
    differing = list(disagreements(processes))
    agreeing = agreement(processes, {role for role, _ in differing})
    picture = Picture(_in_order(processes), agreeing, now=now)
    picture.findings += findings(picture.processes)
    picture.findings += wrong_roles(picture.processes, now)
    picture.findings += (finding for _, finding in differing)
    picture.findings += obstacles(nodes)
    picture.notes = [*_notes(nodes, picture), *clock_notes]
    directories = (node.get("directory") for node in nodes)
    picture.journals = list(dict.fromkeys(filter(None, directories)))
    if not picture.processes and not picture.findings:
        shown = ", ".join(picture.journals)
        message = (
            f"no process has written a journal in {shown}: nothing is patched there"
        )
        if running_only:
            message = f"no process that runs here writes a journal in {shown}"
        picture.findings = [ProcessFinding("empty", message)]
    return picture


def _all_processes(
    processes: list[ProcessStatus],
    nodes: Sequence[NodeFacts],
    table: ProcessTable,
    now: float,
) -> list[ProcessStatus]:
    """List the processes of journals, of which it is known who runs, and those without one."""
    running = _running(nodes)
    unfulfilled = set_parents(processes)  # the claims of children that left no journal
    _add_calls_of_copies(processes)
    processes += _without_journal(unfulfilled, running, now)
    processes += _unknown_processes(processes, running, table)
    for node in nodes:
        compare_bodies(processes, node)
    return processes


def _processes_of_journals(nodes: Iterable[NodeFacts]) -> list[ProcessStatus]:
    """Read the processes of all journals, the oldest first."""
    journals: dict[str, bytes] = {}
    modified: dict[str, float] = {}
    for node in nodes:  # nodes that share a directory list the same journals
        journals.update(node.get("journals", {}))
        modified.update(node.get("modified", {}))
    processes: list[ProcessStatus] = []
    with no_collection():
        for name, data in journals.items():
            process = parse_journal(name, data)
            if process is not None:
                process.modified = modified.get(name)
                processes.append(process)
        return _distinct(processes)


def _running(nodes: Iterable[NodeFacts]) -> Running:
    """Collect the running processes of the nodes that list them."""
    running: Running = {}
    for node in nodes:
        if node.get("processes") is not None:
            of_host = running.setdefault(node["host"], {})
            of_host.setdefault(node.get("space", ""), {}).update(node["processes"])
    return running


def _running_beside(
    process: ProcessStatus, running: Running
) -> dict[int, dict[str, Any]] | None:
    """Return what runs where the pid of a process counts; None if nobody has looked there.

    A container beside that of the engine has the same host name, and sees other processes.
    """
    for space, local_processes in running.get(process.host, {}).items():
        if process.counts_in(space):
            return local_processes
    return None


def _is_alive(process: ProcessStatus, running: Running) -> bool | None:
    """Whether a process still runs; None if its node does not list running processes."""
    local_processes = _running_beside(process, running)
    if local_processes is None:
        return None
    facts = local_processes.get(process.pid)
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
        local_processes = _running_beside(parent, running)
        if local_processes is not None:
            alive = child.pid in local_processes
        is_starting = alive is True and now - child.time < _PATIENCE
        reason = "was started and left no journal"
        if is_starting:
            reason = "was started and has no journal yet"
        roles = child.role.split(",") if child.role else []
        yield ProcessStatus(
            host=parent.host,
            pid=child.pid,
            ppid=parent.pid,
            space=parent.space,
            started=child.time,
            roles=roles,
            rank=rank_of_name(child.name),
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
    by_pid = by_pid_of(process for process in processes if process.alive)
    unknown = []
    for host, by_space in running.items():
        for space, local_processes in by_space.items():
            for pid, facts in local_processes.items():
                known = of_space(space, by_pid.get((host, pid), ()))
                if facts["engine"] and not known:
                    process = _unknown_process(host, pid, facts, table)
                    process.space = space
                    unknown.append(process)
    by_pid.update(by_pid_of(unknown))  # their parents may be unknown, too
    for process in unknown:
        key = (process.host, process.ppid)
        parents = of_space(process.space, by_pid.get(key, ()))
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
        lacking = "journals that reached their limit: of what came later, only failures are told"
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
        place = (process.host, process.space, process.pid)
        latest[place, process.began, started] = process
    distinct = (
        process for process in latest.values() if not is_own_command(process.argv)
    )
    return sorted(distinct, key=lambda process: process.started)


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
