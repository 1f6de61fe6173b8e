"""Somebody overwrites a target in a worker of a real engine, after the worker has its role.

Takes about 30 s.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from patchkit_lab import processes, scenario

DRIVER = Path(__file__).with_name("overwritten_driver.py")
TARGET = "vllm.v1.worker.gpu_worker:Worker.execute_model"
ROWS = f"""
from patchkit import AfterImport, Patch, Role, Wrap

PATCHES = (
    Patch(
        name="somebody", body="patch_somebody", requires=("vllm",), roles={{Role.WORKER}},
        changes=(AfterImport("vllm.v1.worker.gpu_worker", call="begin"),),
    ),
    Patch(
        name="counted", body="patch_worker", requires=("vllm",), roles={{Role.WORKER}},
        changes=(Wrap("{TARGET}", by="by"),),
    ),
)
"""
BY = "def by(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)\n"
# A thread of somebody who knows nothing of patchkit, but waits until the process has applied the
# patch and looked once.
SOMEBODY = """
import glob, os, threading, time

ORIGINAL = []

def stranger(self, *args, **kwargs):
    return ORIGINAL[0](self, *args, **kwargs)

def begin(module):
    ORIGINAL.append(module.Worker.execute_model)
    threading.Thread(target=overwrite, args=(module,), daemon=True).start()

def overwrite(module):
    files = f"{os.environ['PATCHKIT_JOURNAL']}/*-{os.getpid()}-*.jsonl"
    end = time.monotonic() + 300
    while time.monotonic() < end:
        told = "".join(open(file).read() for file in glob.glob(files))
        if '"verified"' in told and '"name":"counted","status":"applied"' in told:
            module.Worker.execute_model = stranger
            return
        time.sleep(0.1)
"""


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=pytest.mark.every_cell), "spawn"]
)
def test_it_is_found_and_shown(
    python: Path, model: Path, tmp_path: Path, method: str
) -> None:
    """The engine answers as before; `status` says who did it, and when the worker last looked."""
    pack = tmp_path / "looked_at"
    pack.mkdir()
    (pack / "__init__.py").write_text(ROWS)
    (pack / "patch_worker.py").write_text(BY)
    (pack / "patch_somebody.py").write_text(SOMEBODY)
    settings = {
        "VLLM_PLUGINS": "",
        "VLLM_WORKER_MULTIPROC_METHOD": method,
        "PYTHONPATH": str(tmp_path),
        "PATCHKIT_PATCHES": "looked_at",
        "PATCHKIT_VERIFY": "1",
        "PATCHKIT_JOURNAL": str(tmp_path / "journal"),
    }
    env = processes.environment(scenario.VLLM, settings)
    command = [str(python), str(DRIVER), str(model)]
    outcome = processes.run(command, env, 600, tmp_path / "engine.log")
    assert outcome.status == 0, outcome.tail()
    said = outcome.said("before")
    assert said, outcome.tail()
    assert said["after"] == said["before"]
    (worker,) = (
        one for one in said["status"]["processes"] if one["roles"] == ["worker"]
    )
    patches = {one["name"]: one for one in worker["patches"]}
    assert patches["counted"]["status"] == "failed"
    reason = patches["counted"]["reason"]
    assert reason.startswith(f"OverwrittenError: {TARGET} was overwritten by")
    assert "looked_at.patch_somebody" in reason
    assert worker["verified"] < 60
    assert patches["somebody"]["status"] == "applied"
    assert said["code"] == 1
    assert (
        f"error: required patch counted (looked_at.patch_worker) failed: {reason}"
        in outcome.output
    )
