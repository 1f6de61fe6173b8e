"""A pack for two engines, in an engine of SGLang; tests/e2e has the same in one of vLLM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from sglang_runs import HERE, LAB

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchkit_lab.processes import Outcome

BOTH = HERE.parents[1] / "examples" / "both_engines"
DRIVER = str(HERE / "engine_driver.py")


def test_the_change_of_this_engine_acts(
    run: Callable[..., Outcome], model: Path, tmp_path: Path
) -> None:
    """The scheduler counts its batches; the change for vLLM, which is not here, is left out."""
    counts = tmp_path / "counts"
    counts.mkdir()
    command = [sys.executable, "-m", "patchkit", "run", "--", sys.executable, DRIVER]
    done = run(
        *command,
        str(model),
        PYTHONPATH=os.pathsep.join(map(str, (HERE, LAB, BOTH))),
        PATCHKIT_PATCHES="batch_rows",
        BATCH_ROWS=str(counts),
    )
    assert done.status == 0, done.tail()
    (file,) = counts.iterdir()
    assert file.name.startswith("sglang-")
    assert file.read_text()
    shown = subprocess.run(
        [
            *(sys.executable, "-m", "patchkit", "status", "--format", "json"),
            str(tmp_path / "journal"),
        ],
        capture_output=True,
        check=False,
        text=True,
    )
    applied = [
        process["pid"]
        for process in json.loads(shown.stdout)["processes"]
        for patch in process["patches"]
        if (patch["name"], patch["status"]) == ("count-batches", "applied")
    ]
    assert applied == [int(file.name.removeprefix("sglang-"))]
