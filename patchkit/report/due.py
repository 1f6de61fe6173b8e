"""Which patches of a process are of interest: not those for another role."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.status.process_status import PatchStatus, ProcessStatus


def is_due(process: ProcessStatus, patch: PatchStatus) -> bool:
    """Whether it is of interest how it stands: not where it is for another role's process."""
    is_mine = not process.roles or any(is_for(process, patch, role) for role in process.roles)
    return is_mine or patch.status in {"applied", "failed"}


def is_for(process: ProcessStatus, patch: PatchStatus, role: str) -> bool:
    """Whether a process has a role that a patch is for."""
    return role in process.roles and (not patch.roles or role in patch.roles)
