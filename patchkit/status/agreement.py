"""Whether the processes of one engine that have the same role have the same patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchkit.status.process_status import ProcessStatus

_OUT = {"skipped", "failed"}
_MANY = 4


@dataclass(frozen=True)
class Disagreement:
    """
    A difference between processes that should be alike.

    Args:
        role: theirs.
        message: who has what.
        process: the one that is different, if it is one.

    """

    role: str
    message: str
    process: ProcessStatus | None = None


def engines(processes: Iterable[ProcessStatus]) -> list[list[ProcessStatus]]:
    """
    Group processes by engine: the tree of one main process.

    A journal may hold several runs. Whoever has lost its main process belongs to the latest that
    was there before it.
    """
    groups: dict[ProcessStatus | None, list[ProcessStatus]] = {}
    latest: ProcessStatus | None = None
    for process in sorted(processes, key=lambda process: process.started):
        root = _root(process)
        is_main = root.is_reached and "main" in root.roles
        if is_main and root is process:
            latest = process
        groups.setdefault(root if is_main else latest, []).append(process)
    return list(groups.values())


def disagreements(groups: Iterable[Sequence[ProcessStatus]]) -> list[Disagreement]:
    """Find every difference within a role of an engine."""
    found: list[Disagreement] = []
    for group in groups:
        there = [process for process in group if not (process.is_copy or process.is_starting)]
        for role in sorted({role for process in there for role in process.roles}):
            found += _within(role, [process for process in there if role in process.roles])
    return found


def _within(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    told = [process for process in alike if role in process.disagreements]
    for process in told:
        yield Disagreement(role, process.disagreements[role], process)
    reached = [process for process in alike if process.is_reached]
    for process in alike:
        if not process.is_reached and reached:
            yield Disagreement(role, f"{_who(process)} is not reached, others are", process)
    if not told:
        yield from _by_digest(role, reached)
        yield from _by_patch(role, reached)


def _by_digest(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    holders: dict[str, list[ProcessStatus]] = {}
    for process in alike:
        if role in process.digests:
            holders.setdefault(process.digests[role], []).append(process)
    if len(holders) > 1:
        texts = [f"{digest} in {_all(processes)}" for digest, processes in holders.items()]
        yield Disagreement(role, f"different digests: {'; '.join(texts)}")


def _by_patch(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    for name in dict.fromkeys(name for process in alike for name in process.patches):
        knowing = [process for process in alike if name in process.patches]
        if role not in (knowing[0].patches[name].roles or (role,)):
            continue
        having = [one for one in knowing if one.patches[name].status == "applied"]
        lacking = [one for one in knowing if one.stand(one.patches[name])[0] in _OUT]
        if having and lacking:
            text = f"{name} is applied in {_all(having)}, not in {_all(lacking)}"
            yield Disagreement(role, text)


def _root(process: ProcessStatus) -> ProcessStatus:
    while process.parent is not None:
        process = process.parent
    return process


def _all(processes: Sequence[ProcessStatus]) -> str:
    shown = ", ".join(map(_who, processes[:_MANY]))
    more = len(processes) - _MANY
    return f"{shown} and {more} more" if more > 0 else shown


def _who(process: ProcessStatus) -> str:
    rank = "" if process.rank is None else f"rank {process.rank}, "
    return f"{rank}pid {process.pid} on {process.host}"
