"""The picture of all processes: their tree, whether they agree, and what there is to look at."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchkit.status.agreement import Disagreement, disagreements, engines
from patchkit.status.journals import parse_journal
from patchkit.status.parents import by_pid, link, one_each, rank_of_name
from patchkit.status.process_status import ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from patchkit.status.process_status import ChildStart

    Look = Mapping[str, Any]

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


@dataclass(frozen=True)
class Finding:
    """
    Something to look at.

    Args:
        kind: failed, overwritten, unreviewed, not-reached, disagreement, unreadable, no-answer or
            empty.
        message: in words.
        process: whose it is, if it is one's.

    """

    kind: str
    message: str
    process: ProcessStatus | None = None


@dataclass
class Picture:
    """
    All processes of some journals.

    Args:
        processes: each after its parent, the oldest first.
        agreement: by role, whether all processes of each engine have the same patches.
        findings: what there is to look at.
        notes: what else a reader should know.
        journals: the directories that were looked at.
        now: when it was drawn, by the clock of the nodes; seconds since the epoch.

    """

    processes: list[ProcessStatus] = field(default_factory=list)
    agreement: dict[str, bool] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    journals: list[str] = field(default_factory=list)
    now: float = 0

    def children(self) -> dict[ProcessStatus | None, list[ProcessStatus]]:
        """Index the processes by their parents; those without one are under None."""
        found: dict[ProcessStatus | None, list[ProcessStatus]] = {}
        for one in self.processes:
            found.setdefault(one.parent, []).append(one)
        return found


def draw(looks: Sequence[Look]) -> Picture:
    """
    Draw the picture of what was seen on one or more nodes.

    Args:
        looks: what `node.look` has returned on each.

    """
    processes = one_each(_parsed(looks))
    running = _running(looks)
    for one in processes:
        one.alive = _is_alive(one, running)
    now = max((look.get("now", 0) for look in looks), default=time.time())
    processes += _missing(link(processes), running, now)
    processes += _strangers(processes, running)
    differences = disagreements(engines(processes))
    picture = Picture(_in_order(processes), _agreement(processes, differences), now=now)
    picture.findings = [*_findings(picture.processes, differences), *_obstacles(looks)]
    picture.notes = _notes(looks, picture)
    picture.journals = list(dict.fromkeys(filter(None, (look.get("directory") for look in looks))))
    if not picture.processes and not picture.findings:
        where = ", ".join(picture.journals)
        message = f"no process has written a journal in {where}: nothing is patched there"
        picture.findings = [Finding("empty", message)]
    return picture


def _parsed(looks: Iterable[Look]) -> list[ProcessStatus]:
    # Nodes that share a directory show the same files.
    journals = {name: data for look in looks for name, data in look.get("journals", {}).items()}
    parsed = (parse_journal(name, data) for name, data in journals.items())
    return [one for one in parsed if one is not None]


def _running(looks: Iterable[Look]) -> dict[str, dict[int, dict[str, Any]]]:
    """Index what runs by host and pid; a host is missing where that is not known."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for look in looks:
        if look.get("processes") is not None:
            found.setdefault(look["host"], {}).update(look["processes"])
    return found


def _is_alive(one: ProcessStatus, running: Mapping[str, Mapping[int, Any]]) -> bool | None:
    if one.host not in running:
        return None
    there = running[one.host].get(one.pid)
    return there is not None and one.began in {None, there["began"]}


def _missing(
    missing: Iterable[tuple[ProcessStatus, ChildStart]],
    running: Mapping[str, Mapping[int, Any]],
    now: float,
) -> list[ProcessStatus]:
    """Make processes of the children that left no journal; those that begin just now may yet."""
    found = []
    for parent, child in missing:
        here = running.get(parent.host)
        alive = None if here is None else child.pid in here
        is_young = now - child.time < _PATIENCE
        found.append(_unreached(parent, child, alive, is_starting=bool(alive and is_young)))
    return found


def _unreached(
    parent: ProcessStatus, child: ChildStart, alive: bool | None, *, is_starting: bool
) -> ProcessStatus:
    return ProcessStatus(
        host=parent.host,
        pid=child.pid,
        ppid=parent.pid,
        started=child.time,
        roles=[child.role] if child.role else [],
        rank=rank_of_name(child.name),
        is_reached=False,
        is_starting=is_starting,
        name=child.name,
        reason=f"was started {'and has no journal yet' if is_starting else 'and left no journal'}",
        alive=alive,
        parent=parent,
    )


def _strangers(
    processes: Sequence[ProcessStatus], running: Mapping[str, Mapping[int, Mapping[str, Any]]]
) -> list[ProcessStatus]:
    """Find the processes that have vLLM in them, and no journal."""
    known = by_pid(one for one in processes if one.alive)
    found = [
        _stranger(host, pid, seen)
        for host, there in running.items()
        for pid, seen in there.items()
        if seen["vllm"] and (host, pid) not in known
    ]
    known.update(by_pid(found))
    for one in found:
        one.parent = known.get((one.host, one.ppid), [None])[-1]
    return found


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
    """Put each process after its parent, and ranks in order."""
    under = Picture(processes).children()
    ordered: list[ProcessStatus] = []
    waiting = _siblings(under.get(None, []))
    while waiting:
        ordered.append(waiting.pop(0))
        waiting[:0] = _siblings(under.get(ordered[-1], []))
    return ordered


def _siblings(processes: list[ProcessStatus]) -> list[ProcessStatus]:
    return sorted(
        processes,
        key=lambda one: (one.is_copy, -1 if one.rank is None else one.rank, one.started, one.pid),
    )


def _agreement(
    processes: Iterable[ProcessStatus], differences: Iterable[Disagreement]
) -> dict[str, bool]:
    roles = {role for one in processes for role in one.roles}
    broken = {difference.role for difference in differences}
    order = ("main", "engine-core", "worker")
    known = [role for role in order if role in roles]
    return {role: role not in broken for role in (*known, *sorted(roles - {*order}))}


def _findings(
    processes: Iterable[ProcessStatus], differences: Iterable[Disagreement]
) -> list[Finding]:
    found = []
    for one in processes:
        if not one.is_reached and not one.is_starting:
            found.append(Finding("not-reached", one.reason, one))
        found += [
            Finding("failed", f"{patch.name}: {patch.reason}", one)
            for patch in one.patches.values()
            if patch.status == "failed" and not patch.inherited
        ]
        found += [
            Finding("overwritten", f"{patch.name}: {stranger.target} by {stranger.by}", one)
            for patch in one.patches.values()
            for stranger in patch.strangers
            if patch.status == "applied" and not stranger.wraps
        ]
        found += [Finding("unreviewed", text, one) for text in dict.fromkeys(_unreviewed(one))]
    return found + [
        Finding("disagreement", f"{difference.role}: {difference.message}", difference.process)
        for difference in differences
    ]


def _unreviewed(one: ProcessStatus) -> Iterator[str]:
    """Say which required patches drift leaves out, and which locks cannot be read."""
    for patch in one.patches.values():
        if patch.is_finding and not (patch.inherited or one.is_copy):
            is_drift = patch.status == "skipped" and patch.unreviewed == patch.reason
            yield f"{patch.name}: left out: {patch.unreviewed}" if is_drift else patch.unreviewed


def _obstacles(looks: Iterable[Look]) -> list[Finding]:
    found = []
    for look in looks:
        if look.get("error"):
            found.append(Finding("no-answer", f"node {look['host']}: {look['error']}"))
        for name, reason in look.get("unreadable", {}).items():
            found.append(Finding("unreadable", f"node {look['host']}: {name}: {reason}"))
    return found


def _notes(looks: Iterable[Look], picture: Picture) -> list[str]:
    notes = [
        f"node {look['host']} has no /proc: processes that wrote no journal are not looked for"
        for look in looks
        if look.get("processes") is None and not look.get("error")
    ]
    cut = [str(one.pid) for one in picture.processes if one.is_cut]
    if cut:
        notes.append(
            f"journals that reached their limit, and lack what came later: {', '.join(cut)}"
        )
    return notes
