"""Rows made of a point release, in the release before it: the engine is the later one's.

Only in `make e2e-all`.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import environments
import pytest
from patchkit_lab import scenario

from patchkit.analysis.status.journals import read_directory

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "0.20.0", "0.20.1"  # 71 changed functions and 12 new ones, in 37 modules
ARGUMENTS = ("--executor", "mp")
# The build of 0.20.0 for CPUs does not start without.
CPU = {**scenario.CPU, "VLLM_CPU_OMP_THREADS_BIND": "auto"}


@pytest.mark.every_cell
def test_the_engine_is_that_of_the_later_release(tmp_path: Path) -> None:
    """Its tokens, and every module that is imported has its row applied.

    But for the rows that use what none says: a field of a class that msgspec makes.
    """
    old, new = (environments.ensure(f"vllm-{one}") for one in (OLD, NEW))
    model = scenario.make_model(new, tmp_path)
    words = [f"vllm=={NEW}", "--into", "fixes", "--releases", f"vllm=={OLD}"]
    command = [str(old), "-m", "patchkit", "adopt", *words, "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    harmful = {
        name for one in json.loads(done.stdout)["left"] for name in one["used_by"]
    }
    assert "v1-request" in harmful
    plain = scenario.generate(new, model, tmp_path / "new.log", *ARGUMENTS, env=CPU)
    env = {
        **CPU,
        "PATCHKIT_PATCHES": "fixes",
        "PATCHKIT_DISABLE": ",".join(harmful),
        "PYTHONPATH": os.fspath(tmp_path),
        "PATCHKIT_JOURNAL": str(tmp_path / "journal"),
    }
    (tmp_path / "journal").mkdir()
    log = tmp_path / "old.log"
    patched = scenario.generate(old, model, log, *ARGUMENTS, "--patchkit", env=env)
    assert scenario.report(patched).tokens == scenario.report(plain).tokens
    processes = read_directory(tmp_path / "journal")
    core = next(one for one in processes if "engine-core" in one.roles)
    applied = {name for name, one in core.patches.items() if one.status == "applied"}
    assert "v1-core-kv-cache-utils" in applied
    assert not [
        name
        for each in processes
        for name, one in each.patches.items()
        if one.status == "failed"
    ]
