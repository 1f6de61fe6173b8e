"""Finds patches that seem to be declared for the wrong role: their targets are used in others."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.status.engines import engines, label_of
from patchkit.analysis.status.process_status import (
    CALLED,
    PatchStatus,
    ProcessStatus,
)

_START_SECONDS = 120.0
"""Seconds after its start for which a process may still be starting, and import more."""
_USABLE = {"armed", "applied"}
"""The statuses of a patch that may have an effect in a process, now or later."""
_SHOWN = 4
"""How many processes a message names."""


class MisplacedPatch(NamedTuple):
    """A patch that seems to be for the wrong role.

    Args:
        name: Its name.
        message: What speaks for another role.
    """

    name: str
    message: str


class _Occurrence(NamedTuple):
    """A process whose journal lists a patch, and the status of the patch there."""

    process: ProcessStatus
    patch: PatchStatus

    @property
    def is_imported(self) -> bool:
        """Whether the process has imported a module that the patch changes."""
        return bool(self.patch.imported or self.patch.modules or self.patch.unpatched)


def misplaced(
    processes: Iterable[ProcessStatus], now: float
) -> Iterator[MisplacedPatch]:
    """Find patches that have no effect in their roles, while other roles use their targets.

    An engine that has just started gives no finding, nor does a patch that any process has called.

    Args:
        processes: The processes of a picture.
        now: The time of the picture, in seconds since the epoch.

    Yields:
        The patches, engine by engine.
    """
    for engine in engines(processes):
        # Processes with the same roles are judged together: an engine may have a thousand workers.
        by_roles: dict[tuple[str, ...], list[ProcessStatus]] = {}
        patches: dict[str, PatchStatus] = {}  # each as one of the journals lists it
        for process in engine:
            if process.is_reached and process.roles:
                by_roles.setdefault(tuple(process.roles), []).append(process)
                patches.update(process.patches)
        for name, patch in patches.items():
            inside: list[ProcessStatus] = []
            outside: list[ProcessStatus] = []
            for roles, processes_of_roles in by_roles.items():
                # Any journal's `patch` will do: all name the same roles for it, those of its row.
                if any(patch.is_for(role) for role in roles):
                    inside += processes_of_roles
                else:
                    outside += processes_of_roles
            users = [
                occurrence
                for occurrence in _occurrences(name, outside)
                if occurrence.is_imported
            ]
            if not users:
                continue  # nothing speaks for another role
            message = _message(name, _occurrences(name, inside), users, now)
            if message:
                yield MisplacedPatch(name, message)


def _occurrences(name: str, processes: Iterable[ProcessStatus]) -> list[_Occurrence]:
    """Return those of some processes whose journals list a patch, with its status there."""
    return [
        _Occurrence(process, process.patches[name])
        for process in processes
        if name in process.patches
    ]


def _message(
    name: str,
    inside: Sequence[_Occurrence],
    users: Sequence[_Occurrence],
    now: float,
) -> str:
    """Say what speaks for another role of a patch; '' if nothing does, or it is too early.

    Args:
        name: The name of the patch.
        inside: The processes of one engine that have a role of the patch.
        users: The processes of other roles that have imported a module that the patch changes.
        now: The time of the picture, in seconds since the epoch.
    """
    if not inside:
        return ""
    if not all(_is_conclusive(occurrence, now) for occurrence in inside):
        return ""
    everywhere = [*inside, *users]
    if any(CALLED in occurrence.patch.effects.values() for occurrence in everywhere):
        return ""  # it has an effect, so its roles are not wrong
    roles = ", ".join(inside[0].patch.roles)  # those of its row, in every process
    # First case: its targets are imported only in processes of other roles.
    if not any(occurrence.is_imported for occurrence in inside):
        modules: dict[str, None] = {}
        for occurrence in users:
            modules.update(dict.fromkeys(occurrence.patch.imported))
        return (
            f"{name} is for {roles}, where {', '.join(modules)} was never imported; it was in "
            f"{_labels(users)}: if the patch is for there, name that role in its row"
        )
    # Second case: its targets are imported in both, and called only in processes of other roles.
    # One silent process is enough, as those that have not imported the targets show nothing.
    is_uncalled = any(occurrence.patch.is_silent for occurrence in inside)
    callers = [occurrence for occurrence in users if occurrence.patch.unpatched]
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
    """Whether a process has run long enough to show whether it uses a patch that is for it."""
    process = occurrence.process
    status, _ = process.stand(occurrence.patch)
    if status not in _USABLE or process.is_starting:
        return False  # a patch that has failed or was skipped has no effect in any role
    if process.is_copy:
        return True  # its original, the process that it was forked from, is examined by itself
    # A look that finds nothing new is recorded as `verified` only.
    last_look = max(process.looked or 0, process.verified or 0)
    if not last_look:
        return False  # it has not reported yet what it imported
    if process.alive is False:
        return True  # it has ended, so it will import nothing more
    # If nobody knows whether it runs, one that has long reported nothing counts as ended.
    has_gone_silent = process.alive is None and now - last_look > _START_SECONDS
    return has_gone_silent or last_look - process.started > _START_SECONDS


def _labels(occurrences: Sequence[_Occurrence]) -> str:
    """List the roles and labels of processes; of more than a few, the first ones."""
    labels = []
    for occurrence in occurrences[:_SHOWN]:
        roles = ", ".join(occurrence.process.roles)
        labels.append(f"{roles} ({label_of(occurrence.process)})")
    further = len(occurrences) - len(labels)
    shown = ", ".join(labels)
    if further:
        shown += f" and {further} more"
    return shown
