"""Finds what needs attention: failures, processes that were not reached, ranks that differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from patchkit.analysis.status.engines import engines, label_of
from patchkit.analysis.status.misplaced import misplaced
from patchkit.analysis.status.process_status import FORMAT, ProcessStatus
from patchkit.core.record import grouped

NodeFacts = Mapping[str, Any]
"""What `node.look` returns for one node."""
Difference = tuple[str, ProcessStatus | None]
"""A message about processes that differ, and the process if a single one differs."""

_ROLES = ("main", "engine-core", "worker")
_NOT_APPLIED = {"skipped", "failed"}
_SHOWN_AT_MOST = 4


KINDS = (
    "failed",
    "overwritten",
    "unsure",
    "sets",
    "kept",
    "unreviewed",
    "not-reached",
    "unknown",
    "no-process",
    "misplaced",
    "disagreement",
    "unreadable",
    "no-answer",
    "awaited",
    "empty",
)
"""The kinds of findings."""


class ProcessFinding(NamedTuple):
    """Something that needs attention.

    Args:
        kind: One of `KINDS`.
        message: What is wrong.
        process: The process with the problem; None for several or none.
        is_tolerated: Whether the program goes on as its rows want it to: a patch failed that is
            not required.
    """

    kind: str
    message: str
    process: ProcessStatus | None = None
    is_tolerated: bool = False


def findings(processes: Iterable[ProcessStatus]) -> Iterator[ProcessFinding]:
    """Yield what needs attention in each process by itself.

    Args:
        processes: The processes of a picture.
    """
    for process in processes:
        yield from _unreached(process)
        yield from _out_of_place(process)
        yield from _failures(process)
        yield from _overwritten(process)
        yield from _set_otherwise(process)
        yield from _kept(process)
        for message in dict.fromkeys(_unreviewed(process)):
            yield ProcessFinding("unreviewed", message, process)


def wrong_roles(
    processes: Iterable[ProcessStatus], now: float
) -> Iterator[ProcessFinding]:
    """Yield the patches whose targets are used in processes of other roles than the patches'.

    Args:
        processes: The processes of a picture.
        now: The time of the picture, in seconds since the epoch.
    """
    for patch in misplaced(processes, now):
        yield ProcessFinding("misplaced", patch.message)


def awaited(
    processes: Iterable[ProcessStatus], roles: Iterable[str]
) -> Iterator[ProcessFinding]:
    """Yield the roles that no process has entered yet.

    Args:
        processes: The processes of a picture, of which those count that were reached.
        roles: The roles that are expected.
    """
    entered = _roles_of(process for process in processes if process.is_reached)
    for role in roles:
        if role not in entered:
            yield ProcessFinding("awaited", f"no process of role {role} yet")


def _unreached(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield a finding if patchkit was not armed in a process, or its journal does not tell all."""
    if not process.is_reached and not process.is_starting:
        yield ProcessFinding("not-reached", process.reason, process)
    if process.format != FORMAT:
        expected = f"expected {FORMAT}: read it with the patchkit that wrote it"
        message = f"its journal has format {process.format}, {expected}"
        yield ProcessFinding("unreadable", message, process)
    if process.lacks_start:
        message = (
            "its journal lacks the first entry, as after a full disk or a rotation: what was "
            "applied is not known"
        )
        yield ProcessFinding("unreadable", message, process)


def _out_of_place(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield a finding for a process that no row describes, and for patches that get no process.

    The latter are for a process that is not started: vLLM's frontend in Rust, for example, runs in
    place of the server in Python, which has their targets.
    """
    # A process with a digest has entered a role, so it is recognized after all.
    if process.unknown and not process.digests:
        message = (
            f"unrecognized process: {process.unknown}; register it under the "
            "patchkit.processes entry point"
        )
        yield ProcessFinding("unknown", message, process)
    for name, reason in process.left_without.items():
        yield ProcessFinding("no-process", f"{name}: {reason}", process)


def _failures(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield the failed patches of a process; inherited failures are its parent's findings."""
    for patch in process.patches.values():
        if patch.status == "failed" and not patch.inherited:
            message = f"{patch.name}: {patch.reason}"
            yield ProcessFinding("failed", message, process, patch.tolerated)


def _overwritten(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield the applied patches whose targets other code has overwritten, or perhaps has.

    Code that wraps the patch is no finding: it still calls the patch.
    """
    for patch in process.patches.values():
        if patch.status != "applied":
            continue
        for stranger in patch.strangers:
            message = f"{patch.name}: {stranger.target} by {stranger.by}"
            if stranger.unsure:
                message += ": cannot tell whether that calls the patch"
                yield ProcessFinding("unsure", message, process)
            elif not stranger.wraps:
                yield ProcessFinding("overwritten", message, process)


def _set_otherwise(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield where the call of an AfterImport has not set just what `sets` in its row names."""
    for patch in process.patches.values():
        if patch.status != "applied":
            continue
        for name, result in patch.called.items():
            call = f"{patch.name}: {name}()"
            for target in result.left:
                message = f"{call} has left {target} as it was, and sets names it"
                yield ProcessFinding("sets", message, process)
            for target in result.unnamed:
                message = f"{call} has changed {target}, and sets does not name it"
                yield ProcessFinding("sets", message, process)


def _kept(process: ProcessStatus) -> Iterator[ProcessFinding]:
    """Yield the patches whose code still runs in a forked process of another role."""
    for patch in process.patches.values():
        if patch.kept:
            shown = ", ".join(patch.kept[:_SHOWN_AT_MOST])
            further = len(patch.kept) - _SHOWN_AT_MOST
            if further > 0:
                shown += f" and {further} more"
            message = (
                f"{patch.name} is not for this process, which still runs its code through {shown}; "
                "start the process by spawn, or declare the patch for its role too"
            )
            yield ProcessFinding("kept", message, process)


def _unreviewed(process: ProcessStatus) -> Iterator[str]:
    """Yield messages about patches whose targets differ from the reviewed ones in the lock."""
    for patch in process.patches.values():
        # A fork has its parent's patches: what is wrong with them is reported of the parent alone.
        is_of_parent = patch.inherited or process.is_copy
        if is_of_parent or not patch.is_finding:
            continue
        is_left_out_for_it = (
            patch.status == "skipped" and patch.unreviewed == patch.reason
        )
        if is_left_out_for_it:
            yield f"{patch.name}: left out: {patch.unreviewed}"
        else:  # skipped for another reason, or applied although the lock cannot be read
            yield patch.unreviewed


def obstacles(nodes: Iterable[NodeFacts]) -> Iterator[ProcessFinding]:
    """Yield the nodes that did not answer, and the journals that cannot be read.

    Args:
        nodes: What `node.look` returned for each node.
    """
    for node in nodes:
        host = node["host"]
        if node.get("error"):
            yield ProcessFinding("no-answer", f"node {host}: {node['error']}")
        for name, reason in node.get("unreadable", {}).items():
            yield ProcessFinding("unreadable", f"node {host}: {name}: {reason}")


def agreement(
    processes: Iterable[ProcessStatus], broken: Collection[str]
) -> dict[str, bool]:
    """Return by role whether all processes of each engine have the same patches.

    Args:
        processes: The processes, whose roles are the keys, in patchkit's own order.
        broken: The roles in which `disagreements` found a difference.
    """
    roles = _roles_of(processes)
    ordered = [role for role in _ROLES if role in roles]
    ordered += sorted(roles.difference(_ROLES))
    return {role: role not in broken for role in ordered}


def disagreements(
    processes: Iterable[ProcessStatus],
) -> Iterator[tuple[str, ProcessFinding]]:
    """Yield every difference between processes that have the same role in one engine.

    Args:
        processes: The processes; forked copies and starting processes are not compared.

    Yields:
        The role, and the finding.
    """
    for engine in engines(processes):
        active = [
            process
            for process in engine
            if not (process.is_copy or process.is_starting)
        ]
        for role in sorted(_roles_of(active)):
            peers = [process for process in active if role in process.roles]
            for message, process in _differences(role, peers):
                finding = ProcessFinding("disagreement", f"{role}: {message}", process)
                yield role, finding


def _roles_of(processes: Iterable[ProcessStatus]) -> set[str]:
    """Return the roles that some processes have."""
    roles: set[str] = set()
    for process in processes:
        roles.update(process.roles)
    return roles


def _differences(role: str, peers: Sequence[ProcessStatus]) -> Iterator[Difference]:
    """Yield how processes of one role in one engine differ.

    Their journals are compared only if no process has reported a difference itself, which the
    comparison would find again.
    """
    reporters = [process for process in peers if role in process.disagreements]
    for process in reporters:
        yield process.disagreements[role], process
    reached = [process for process in peers if process.is_reached]
    for process in peers:
        if not process.is_reached and reached:
            yield f"{label_of(process)} is not reached, others are", process
    if not reporters:
        yield from _differences_by_digest(role, reached)
        yield from _differences_by_patch(role, reached)
        yield from _differences_by_body(role, reached)


def _differences_by_digest(
    role: str, peers: Sequence[ProcessStatus]
) -> Iterator[Difference]:
    """Yield a message if the processes of a role have different digests of their patches."""
    pairs = (
        (process.digests[role], process) for process in peers if role in process.digests
    )
    processes_by_value = grouped(pairs)
    if len(processes_by_value) > 1:
        texts = [
            f"{digest} in {_labels(processes)}"
            for digest, processes in processes_by_value.items()
        ]
        shown = "; ".join(texts)
        yield f"different digests: {shown}", None


def _differences_by_patch(
    role: str, peers: Sequence[ProcessStatus]
) -> Iterator[Difference]:
    """Yield the patches of a role that are applied in some processes, and not in others."""
    for name in _patch_names(peers):
        owners = [process for process in peers if name in process.patches]
        # Any owner will do: all journals name the same roles for a patch, those of its row.
        described = owners[0].patches[name]
        if not described.is_for(role):
            continue
        applied_in: list[ProcessStatus] = []
        missing_in: list[ProcessStatus] = []
        for process in owners:
            patch = process.patches[name]
            if patch.status == "applied":
                applied_in.append(process)
                continue
            status, _ = process.stand(patch)
            if status in _NOT_APPLIED:  # an armed patch may be applied later
                missing_in.append(process)
        if applied_in and missing_in:
            having = _labels(applied_in)
            lacking = _labels(missing_in)
            yield f"{name} is applied in {having}, not in {lacking}", None


def _differences_by_body(
    role: str, peers: Sequence[ProcessStatus]
) -> Iterator[Difference]:
    """Yield the patches of a role whose bodies differed when processes loaded them.

    Digests do not show that: they hash the file when a role is entered, which may be later.
    """
    for name in _patch_names(peers):
        pairs: list[tuple[str, ProcessStatus]] = []
        for process in peers:
            patch = process.patches.get(name)
            if patch is None or patch.body is None or patch.status != "applied":
                continue
            # Only the first process is asked: all journals name the same roles for a patch.
            is_for_role = bool(pairs) or patch.is_for(role)
            if not is_for_role:
                break
            pairs.append((patch.body.loaded, process))
        processes_by_value = grouped(pairs).values()
        if len(processes_by_value) > 1:
            shown = "; ".join(map(_labels, processes_by_value))
            yield f"{name}: its body was edited between the loads in {shown}", None


def _patch_names(processes: Iterable[ProcessStatus]) -> list[str]:
    """Return the names of the patches that some processes list, each once."""
    names: dict[str, None] = {}
    for process in processes:
        names.update(dict.fromkeys(process.patches))
    return list(names)


def _labels(processes: Sequence[ProcessStatus]) -> str:
    """List the labels of processes; of more than a few, the first ones and the number of others."""
    first = processes[:_SHOWN_AT_MOST]
    shown = ", ".join(map(label_of, first))
    surplus = len(processes) - _SHOWN_AT_MOST
    if surplus > 0:
        return f"{shown} and {surplus} more"
    return shown
