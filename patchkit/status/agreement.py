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
    mains: list[ProcessStatus] = []
    for one in sorted(processes, key=lambda one: one.started):
        root = _root(one)
        if not (root.is_reached and "main" in root.roles):
            root = mains[-1] if mains else None  # type: ignore[assignment]
        elif root is one:
            mains.append(one)
        groups.setdefault(root, []).append(one)
    return list(groups.values())


def disagreements(groups: Iterable[Sequence[ProcessStatus]]) -> list[Disagreement]:
    """Find every difference within a role of an engine."""
    found: list[Disagreement] = []
    for group in groups:
        for role in sorted({role for one in group for role in one.roles}):
            alike = [
                one for one in group if role in one.roles and not (one.is_copy or one.is_starting)
            ]
            found += _within(role, alike)
    return found


def _within(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    told = [one for one in alike if role in one.disagreements]
    yield from (Disagreement(role, one.disagreements[role], one) for one in told)
    reached = [one for one in alike if one.is_reached]
    for one in alike:
        if not one.is_reached and reached:
            yield Disagreement(role, f"{_who(one)} is not reached, others are", one)
    if not told:
        yield from _by_digest(role, reached)
        yield from _by_patch(role, reached)


def _by_digest(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    holders: dict[str, list[ProcessStatus]] = {}
    for one in alike:
        if role in one.digests:
            holders.setdefault(one.digests[role], []).append(one)
    if len(holders) > 1:
        texts = [f"{digest} in {_all(ones)}" for digest, ones in holders.items()]
        yield Disagreement(role, f"different digests: {'; '.join(texts)}")


def _by_patch(role: str, alike: Sequence[ProcessStatus]) -> Iterator[Disagreement]:
    names = dict.fromkeys(name for one in alike for name in one.patches)
    for name in names:
        stand = [(one, one.patches[name]) for one in alike if name in one.patches]
        if role not in (stand[0][1].roles or (role,)):
            continue
        having = [one for one, patch in stand if patch.status == "applied"]
        lacking = [one for one, patch in stand if one.stand(patch)[0] in _OUT]
        if having and lacking:
            text = f"{name} is applied in {_all(having)}, not in {_all(lacking)}"
            yield Disagreement(role, text)


def _root(one: ProcessStatus) -> ProcessStatus:
    while one.parent is not None:
        one = one.parent
    return one


def _all(processes: Sequence[ProcessStatus]) -> str:
    shown = ", ".join(map(_who, processes[:_MANY]))
    more = len(processes) - _MANY
    return f"{shown} and {more} more" if more > 0 else shown


def _who(one: ProcessStatus) -> str:
    rank = "" if one.rank is None else f"rank {one.rank}, "
    return f"{rank}pid {one.pid} on {one.host}"
