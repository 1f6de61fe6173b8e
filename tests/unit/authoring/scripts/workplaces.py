"""A workspace for the tests of scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.authoring.scripts.stand_ins import StandIns
from patchkit.authoring.scripts.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def workspace_in(folder: Path) -> Workspace:
    """Make a workspace for `up` 1.0, with the programs in it and no copy yet."""
    workspace = Workspace(folder / "copy", "up", "up", "1.0")
    workspace.make()
    StandIns(workspace).write()
    return workspace
