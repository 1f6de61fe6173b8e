"""The newest lane of the matrix, and an older one, in part: `make matrix` runs all of them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import folders
import pytest

if TYPE_CHECKING:
    from pathlib import Path

FLAGSHIP = ("flagship", "ray-v2")
LANES = {"0.32.0": ("apply", *FLAGSHIP), "0.23.0": FLAGSHIP}


@pytest.mark.parametrize(("lane", "checks"), LANES.items())
def test_the_flagship_cures_this_release(lane: str, checks: list[str], tmp_path: Path) -> None:
    """Rows are applied and undone; Ray's workers fail without patchkit, and agree with it."""
    tool = str(folders.REPOSITORY / "lab" / "matrix.py")
    argv = [sys.executable, tool, "--lanes", lane, "--checks", ",".join(checks), "--keep"]
    done = subprocess.run(argv, text=True, capture_output=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    for check in checks:
        assert f"conformance: {check}: passed" in done.stderr
