"""A pack for two engines, in an engine of vLLM; tests/sglang has the same in one of SGLang.

Takes about 30 s.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from patchkit_lab import processes, scenario

BOTH = Path(__file__).resolve().parents[2] / "examples" / "both_engines"


def test_the_change_of_this_engine_acts(
    python: Path, model: Path, tmp_path: Path
) -> None:
    """The engine core counts its steps; the change for SGLang, which is not here, is left out."""
    counts = tmp_path / "counts"
    counts.mkdir()
    env = {
        **scenario.VLLM,
        "VLLM_PLUGINS": "",
        "PYTHONPATH": str(BOTH),
        "PATCHKIT_PATCHES": "batch_rows",
        "PATCHKIT_JOURNAL": str(tmp_path / "journal"),
        "BATCH_ROWS": str(counts),
    }
    command = [str(python), str(scenario.HERE / "generate.py"), str(model)]
    arguments = ("--executor", "mp", "--patchkit")
    done = processes.run(
        [*command, *arguments], processes.environment(env), 600, tmp_path / "log"
    )
    assert scenario.report(done).tokens
    (file,) = counts.iterdir()
    assert file.name.startswith("vllm-")
    assert file.read_text()
    shown = subprocess.run(
        [
            *(str(python), "-m", "patchkit", "status", "--format", "json"),
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
    assert applied == [int(file.name.removeprefix("vllm-"))]
