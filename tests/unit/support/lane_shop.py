"""Three lanes in a folder, and `make matrix` on them: environments and checks only pretend."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from support.packages import REPOSITORY, row, world

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.packages import World

__all__ = ["world"]

STAND_IN = Path(__file__).with_name("lanes_stand_in.py")
RELEASES = {"a": "0.31.0", "b": "0.32.0", "c": "0.33.0"}
WRAP = "Wrap('up.mod:f', by='w')"
LANE = """
[lanes."{release}"]
releases = {{ vllm = "{release}", ray = "2.60.0" }}
python = "3.11"
environment = "{environment}"
runs = "engine"
"""


def requires(bounds: str, world: World) -> None:
    """Write a pack with one row, for some releases of vLLM."""
    texts = {"why": "'w'", "upstream": "'u'", "sunset": "'s'"}
    written = row("p", "patch_a", WRAP, requires=f"('vllm{bounds}',)", **texts)
    world.pack(written, patch_a="def w(): ...")


@pytest.fixture
def shop(world: World) -> World:
    """Three lanes, and a row for all of them."""
    requires(">=0.20,<0.34", world)
    texts = [LANE.format(release=RELEASES[name], environment=name) for name in RELEASES]
    (world.folder / "lanes.toml").write_text("".join(texts))
    return world


def matrix(
    shop: World,
    *arguments: str,
    story: Mapping[str, Any] | None = None,
    limit: int = 60,
) -> subprocess.CompletedProcess[str]:
    """Run `make matrix` on the lanes; the story says what becomes of their checks."""
    (shop.folder / "story.json").write_text(json.dumps(story or {}))
    return subprocess.run(
        command_of(shop, *arguments),
        env=environ_of(shop, limit),
        capture_output=True,
        text=True,
        check=False,
    )


def command_of(shop: World, *arguments: str) -> list[str]:
    """The command that starts the stand-in of `make matrix`."""
    return [sys.executable, str(STAND_IN), str(shop.folder), *arguments]


def environ_of(shop: World, limit: int = 60) -> dict[str, str]:
    """The environment of that command; a lane has `limit` seconds."""
    folders = map(str, (REPOSITORY, REPOSITORY / "lab", shop.folder))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), "LIMIT": str(limit)}


def daemon_of(shop: World) -> int:
    """The pid of the daemon that a hanging lane has started; waits until there is one."""
    while True:  # until pytest's own time is over
        with contextlib.suppress(OSError, ValueError):
            return int((shop.folder / "daemon").read_text())


def ran(shop: World) -> list[str]:
    """The environments in which checks were run since the last time."""
    file = shop.folder / "ran"
    names = file.read_text().split() if file.exists() else []
    file.unlink(missing_ok=True)
    return names


def kept(shop: World) -> dict[str, Any]:
    """The results in compatibility.json, by lane."""
    return dict(json.loads((shop.folder / "compatibility.json").read_text())["lanes"])
