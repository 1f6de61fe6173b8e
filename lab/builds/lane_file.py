"""Variables that every process of a lane needs: `lane.json` in the environment's folder.

Some releases ask for settings that only the environment's own place can give, such as the path of
a library to preload.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "lane.json"
UNBOUND = "all|all"
"""Leaves the threads of two workers unbound in releases up to 0.9.2; later ones say `nobind`."""


def write(place: Path, **variables: str) -> None:
    """Add variables to those of an environment."""
    (place / NAME).write_text(
        json.dumps({**read(place), **variables}, indent=1), "utf-8"
    )


def read(place: Path) -> dict[str, str]:
    """Return the variables of an environment; none where nothing asked for any."""
    file = place / NAME
    return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}


def preload(place: Path, *libraries: Path) -> None:
    """Have the loader load libraries before all others, behind those of earlier builds."""
    before = read(place).get("LD_PRELOAD", "").split(":")
    wanted = dict.fromkeys([*filter(None, before), *map(str, libraries)])
    write(place, LD_PRELOAD=":".join(wanted))
