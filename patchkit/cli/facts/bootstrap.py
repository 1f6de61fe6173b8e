"""Facts of `patchkit bootstrap status`: is it there, is it in order, does it find patchkit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.bootstrap.install import ABSENT, INSTALLED, location_found_alone, look

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.report.shapes import BootstrapShape


def bootstrap_facts(folder: Path, environ: Mapping[str, str]) -> BootstrapShape:
    """
    Look at the bootstrap of a folder.

    Args:
        folder: this Python's site-packages.
        environ: of the processes in question.

    """
    here = look(folder)
    return {
        "folder": str(folder),
        "state": here.state,
        "files": [{"file": str(file), "state": state} for file, state in here.files.items()],
        "switch": environ.get("PATCHKIT"),
        "patchkit": location_found_alone() or _if_there(here.location),
    }


def is_in_order(data: BootstrapShape) -> bool:
    """Whether there is none, or one that works."""
    return data["state"] == ABSENT or (data["state"] == INSTALLED and data["patchkit"] is not None)


def _if_there(location: str | None) -> str | None:
    return location if location and Path(location).exists() else None
