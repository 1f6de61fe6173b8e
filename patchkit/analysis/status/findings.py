"""What there is to look at: failures, processes that were not reached, ranks that differ."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from patchkit.analysis.status.process_status import FORMAT, ProcessStatus
from patchkit.core.record import grouped

Look = Mapping[str, Any]
Difference = tuple[str, ProcessStatus | None]

_ROLES = ("main", "engine-core", "worker")
_OUT = {"skipped", "failed"}
_MANY = 4


class ProcessFinding(NamedTuple):
    """Something to look at, and whose it is, if it is one's."""

    # failed, overwritten, unreviewed, not-reached, unknown, no-process, disagreement, unreadable,
    # no-answer or empty
    kind: str
    message: str
    process: ProcessStatus | None = None


def findings(processes: Iterable[ProcessStatus]) -> Iterator[ProcessFinding]:
    """Find what there is to look at in each process."""
    for process in processes:
        if not process.is_reached and not process.is_starting:
            yield ProcessFinding("not-reached", process.reason, process)
        if process.format != FORMAT:
            expected = f"expected {FORMAT}: read it with the patchkit that wrote it"
            message = f"its journal has format {process.format}, {expected}"
            yield ProcessFinding("unreadable", message, process)
        yield from _out_of_place(process)
        patches = process.patches.values()
        for patch in patches:
            if patch.status == "failed" and not patch.inherited:
                yield ProcessFinding("failed", f"{patch.name}: {patch.reason}", process)
        for patch in patches:
            for stranger in patch.strangers if patch.status == "applied" else ():
                if not stranger.wraps:
                    message = f"{patch.name}: {stranger.target} by {stranger.by}"
                    yield ProcessFinding("overwritten", message, process)
        for message in dict.fromkeys(_unreviewed(process)):
            yield ProcessFinding("unreviewed", message, process)


def _out_of_place(process: ProcessStatus) -> Iterator[ProcessFinding]:
    if process.unknown and not process.digests:  # which tell that it makes an engine, or joins one
        message = f"{process.unknown} has vLLM loaded, and is in no row of patchkit.processes"
        yield ProcessFinding("unknown", message, process)
    for name, reason in process.left_without.items():
        yield ProcessFinding("no-process", f"{name}: {reason}", process)


def _unreviewed(process: ProcessStatus) -> Iterator[str]:
    for patch in process.patches.values():
        if patch.is_finding and not (patch.inherited or process.is_copy):
            is_drift = patch.status == "skipped" and patch.unreviewed == patch.reason
            yield f"{patch.name}: left out: {patch.unreviewed}" if is_drift else patch.unreviewed


def obstacles(looks: Iterable[Look]) -> Iterator[ProcessFinding]:
    """Say which nodes did not answer, and which journals cannot be read."""
    for look in looks:
        if look.get("error"):
            yield ProcessFinding("no-answer", f"node {look['host']}: {look['error']}")
        for name, reason in look.get("unreadable", {}).items():
            yield ProcessFinding("unreadable", f"node {look['host']}: {name}: {reason}")


def agreement(processes: Iterable[ProcessStatus], broken: Collection[str]) -> dict[str, bool]:
    """Say by role whether all processes of each engine have the same patches."""
    roles = {role for process in processes for role in process.roles}
    known = [role for role in _ROLES if role in roles]
    return {role: role not in broken for role in (*known, *sorted(roles - {*_ROLES}))}


def disagreements(processes: Iterable[ProcessStatus]) -> Iterator[tuple[str, ProcessFinding]]:
    """Find every difference between processes of one engine that have the same role, with it."""
    for engine in _engines(processes):
        there = [process for process in engine if not (process.is_copy or process.is_starting)]
        for role in sorted({role for process in there for role in process.roles}):
            alike = [process for process in there if role in process.roles]
            for message, process in _within(role, alike):
                yield role, ProcessFinding("disagreement", f"{role}: {message}", process)


def _engines(processes: Iterable[ProcessStatus]) -> Iterable[Sequence[ProcessStatus]]:
    """Group processes by engine: the tree of one main process, and what has lost it.

    There may be several runs; those belong to the latest main process before them.
    """
    engines: dict[ProcessStatus | None, list[ProcessStatus]] = {}
    latest: ProcessStatus | None = None
    for process in sorted(processes, key=lambda process: process.started):
        root = process
        while root.parent is not None:
            root = root.parent
        is_main = root.is_reached and "main" in root.roles
        if is_main and root is process:
            latest = process
        engines.setdefault(root if is_main else latest, []).append(process)
    return engines.values()


def _within(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Difference]:
    told = [process for process in alike if role in process.disagreements]
    for process in told:
        yield process.disagreements[role], process
    reached = [process for process in alike if process.is_reached]
    for process in alike:
        if not process.is_reached and reached:
            yield f"{_who(process)} is not reached, others are", process
    if not told:
        yield from _by_digest(role, reached)
        yield from _by_patch(role, reached)


def _by_digest(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Difference]:
    holders = grouped((one.digests[role], one) for one in alike if role in one.digests)
    if len(holders) > 1:
        texts = [f"{digest} in {_all(processes)}" for digest, processes in holders.items()]
        yield f"different digests: {'; '.join(texts)}", None


def _by_patch(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Difference]:
    for name in dict.fromkeys(name for process in alike for name in process.patches):
        knowing = [process for process in alike if name in process.patches]
        if role not in (knowing[0].patches[name].roles or (role,)):
            continue
        having = [one for one in knowing if one.patches[name].status == "applied"]
        lacking = [one for one in knowing if one.stand(one.patches[name])[0] in _OUT]
        if having and lacking:
            yield f"{name} is applied in {_all(having)}, not in {_all(lacking)}", None


def _all(processes: Sequence[ProcessStatus]) -> str:
    shown = ", ".join(map(_who, processes[:_MANY]))
    more = len(processes) - _MANY
    return f"{shown} and {more} more" if more > 0 else shown


def _who(process: ProcessStatus) -> str:
    rank = "" if process.rank is None else f"rank {process.rank}, "
    return f"{rank}pid {process.pid} on {process.host}"
