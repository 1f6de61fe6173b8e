"""An older lane of the matrix, in part, and the newest: `make matrix` runs all of them.

`make e2e-all` only: the older lane makes an environment of its own.

Takes about 10 min.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import folders
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.every_cell

CHECKS = ("apply", "flagship", "ray-v2")


@pytest.mark.parametrize("lane", ["0.32.0", "0.23.0"])
def test_the_flagship_cures_this_release(lane: str, tmp_path: Path) -> None:
    """Rows are applied and undone; Ray's workers fail without patchkit, and agree with it."""
    tool = str(folders.REPOSITORY / "lab" / "matrix.py")
    argv = [
        sys.executable,
        tool,
        "--lanes",
        lane,
        "--checks",
        ",".join(CHECKS),
        "--keep",
    ]
    done = subprocess.run(
        argv, text=True, capture_output=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    for check in CHECKS:
        assert f"conformance: {check}: passed" in done.stderr
