"""Finds patches for one role whose targets are used in processes of other roles instead."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.status.engines import engines, label_of
from patchkit.analysis.status.process_status import (
    CALLED,
    PatchStatus,
    ProcessStatus,
)

_SETTLED = 120.0
"""Seconds after which a process that runs on has done what it does; before, it may be starting."""
_FOR_HERE = {"armed", "applied"}


class MisplacedPatch(NamedTuple):
    """A patch that seems to be for the wrong role.

    Args:
        name: Its name.
        message: What was seen, for people.
    """

    name: str
    message: str


class _Occurrence(NamedTuple):
    """A process that knows a patch, and the status of the patch there."""

    process: ProcessStatus
    patch: PatchStatus

    @property
    def is_for_here(self) -> bool:
        return any(map(self.patch.is_for, self.process.roles))

    @property
    def is_imported(self) -> bool:
        """Whether a module that the patch changes is imported there."""
        return bool(self.patch.imported or self.patch.modules or self.patch.unpatched)


def misplaced(
    processes: Iterable[ProcessStatus], now: float
) -> Iterator[MisplacedPatch]:
    """Find patches that do not act where they are for, while their targets are used elsewhere.

    Nothing is said of an engine that has just started, nor of a patch that any process has called.

    Args:
        processes: The processes of a picture.
        now: The time of the look, in seconds since the epoch.

    Yields:
        A finding for each patch and engine.
    """
    for engine in engines(processes):
        reached = [
            process for process in engine if process.is_reached and process.roles
        ]
        names: dict[str, None] = {}
        for process in reached:
            names.update(dict.fromkeys(process.patches))
        for name in names:
            occurrences = [
                _Occurrence(process, process.patches[name])
                for process in reached
                if name in process.patches
            ]
            message = _message(name, occurrences, now)
            if message:
                yield MisplacedPatch(name, message)


def _message(name: str, occurrences: Sequence[_Occurrence], now: float) -> str:
    """Say what speaks for another role of a patch; '' where nothing does, or it is too early."""
    inside = [occurrence for occurrence in occurrences if occurrence.is_for_here]
    outside = [occurrence for occurrence in occurrences if not occurrence.is_for_here]
    if not inside or not outside:
        return ""
    if not all(_is_conclusive(occurrence, now) for occurrence in inside):
        return ""
    if any(CALLED in occurrence.patch.effects.values() for occurrence in occurrences):
        return ""
    roles = ", ".join(inside[0].patch.roles)
    if not any(occurrence.is_imported for occurrence in inside):
        importers = [occurrence for occurrence in outside if occurrence.is_imported]
        modules: dict[str, None] = {}
        for occurrence in importers:
            modules.update(dict.fromkeys(occurrence.patch.imported))
        if not importers:
            return ""
        return (
            f"{name} is for {roles}, where {', '.join(modules)} was never imported; it was in "
            f"{_labels(importers)}: if the patch is for there, name that role in its row"
        )
    is_uncalled = any(occurrence.patch.is_silent for occurrence in inside)
    callers = [occurrence for occurrence in outside if occurrence.patch.unpatched]
    if not is_uncalled or not callers:
        return ""
    targets: dict[str, None] = {}
    for occurrence in callers:
        targets.update(dict.fromkeys(occurrence.patch.unpatched))
    return (
        f"{name} is for {roles}, and no call of it was seen there; {', '.join(targets)} is used "
        f"without it in {_labels(callers)}: if the patch is for there, name that role in its row"
    )


def _is_conclusive(occurrence: _Occurrence, now: float) -> bool:
    """Whether a process that a patch is for has shown what it does with the patch."""
    process = occurrence.process
    status, _ = process.stand(occurrence.patch)
    if status not in _FOR_HERE or process.is_starting:
        return False
    if process.is_copy:
        return True  # its original is asked
    last_look = max(process.looked or 0, process.verified or 0)
    if not last_look:
        return False
    if process.alive is False:
        return True
    has_gone_silent = process.alive is None and now - last_look > _SETTLED
    return has_gone_silent or last_look - process.started > _SETTLED


def _labels(occurrences: Sequence[_Occurrence]) -> str:
    """Name the roles and processes of occurrences, of many the first few."""
    labels = []
    for occurrence in occurrences[:_SHOWN]:
        roles = ", ".join(occurrence.process.roles)
        labels.append(f"{roles} ({label_of(occurrence.process)})")
    further = len(occurrences) - len(labels)
    shown = ", ".join(labels)
    if further:
        shown += f" and {further} more"
    return shown


_SHOWN = 4
"""How many processes a message names."""
