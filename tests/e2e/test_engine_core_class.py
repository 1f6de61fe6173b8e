"""Overriding the engine core's own class is an ordinary row, forked and spawned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from simnpu_lab import scenario

if TYPE_CHECKING:
    from pathlib import Path

ROWS = """
from patchkit import Patch, Replace, Role

PATCHES = (
    Patch(
        name="own-engine-core", body="patch_core", requires=("vllm>=0.11",),
        roles={Role.ENGINE_CORE},
        changes=(Replace("vllm.v1.engine.core:EngineCoreProc", by="OwnEngineCoreProc"),),
    ),
)
"""

BODY = """
import os
from pathlib import Path
from vllm.v1.engine.core import EngineCoreProc

class OwnEngineCoreProc(EngineCoreProc):
    def __init__(self, *args, **kwargs):
        Path(__file__).with_name("made").write_text(str(os.getpid()))
        super().__init__(*args, **kwargs)
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_engine_core_is_the_overridden_one(
    method: str, python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """`run_engine_core` chooses its class inside; the row is in place before it runs."""
    package = tmp_path / "core_patches"
    package.mkdir()
    (package / "__init__.py").write_text(ROWS)
    (package / "patch_core.py").write_text(BODY)
    env = {
        **scenario.MACHINE,
        **scenario.BACKEND,
        "VLLM_WORKER_MULTIPROC_METHOD": method,
        "PATCHKIT_PATCHES": "core_patches",
        "PYTHONPATH": str(tmp_path),
    }
    arguments = ("--executor", "uni", "--patchkit")
    outcome = scenario.generate(python, model, tmp_path / "log", *arguments, env=env)
    report = scenario.report(outcome)
    assert report.tokens == baseline
    # With the uni executor the engine core's process is the worker's as well.
    assert {int((package / "made").read_text())} == {worker.pid for worker in report.workers}
    assert report.main not in {worker.pid for worker in report.workers}
