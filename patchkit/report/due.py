"""Which patches of a process are of interest: not those for another role."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchkit.report.shapes import PatchStatusShape, ProcessShape


def is_due(one: ProcessShape, patch: PatchStatusShape) -> bool:
    """Whether it is of interest how it stands: not where it is for another role's process."""
    is_mine = not one["roles"] or any(is_for(one, patch, role) for role in one["roles"])
    return is_mine or patch["status"] in {"applied", "failed"}


def is_for(one: ProcessShape, patch: PatchStatusShape, role: str) -> bool:
    """Whether a process has a role that a patch is for."""
    return role in one["roles"] and (not patch["roles"] or role in patch["roles"])
