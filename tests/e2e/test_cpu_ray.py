"""vLLM's own CPU platform on a Ray that has CPUs only: nothing is simulated here.

Takes about 75 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import environments
import pytest
from patchkit_lab import cluster, processes, scenario

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from pathlib import Path

ROW = "cpu-platform-on-ray"
every = pytest.mark.every_cell
EXECUTORS = {"V2": {}, "V1": {"VLLM_USE_RAY_V2_EXECUTOR_BACKEND": "0"}}
# As a driver, up to where the executor's modules are imported.
ASK = """
import patchkit.auto, json
from vllm.platforms import current_platform
from vllm.platforms.cpu import CpuPlatform

class Keyless(CpuPlatform):
    pass

early = Keyless.ray_device_key
from vllm.engine.arg_utils import EngineArgs
import vllm.v1.executor.ray_executor, vllm.v1.executor.ray_executor_v2

keys = [vars(CpuPlatform).get("ray_device_key"), current_platform.ray_device_key, early]
print(json.dumps({"keys": keys}))
"""


@pytest.mark.parametrize(
    ("environment", "executor"),
    [
        ("vllm-0.32.0", "V1"),
        pytest.param("ray-2.35.0", "V2", marks=every),
        pytest.param("vllm-0.32.0", "V2", marks=every),  # `make demo-cpu` shows it
        pytest.param("ray-2.35.0", "V1", marks=every),
    ],
)
def test_two_ray_workers_on_cpus_generate_the_baseline(
    environment: str, executor: str, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Asked to, vLLM for CPUs runs on two workers of Ray, old and new, and says what one says."""
    python = environments.ensure(environment)
    journal = tmp_path / "journal"
    with cluster.started(python, scenario.CPU, npus=0) as ray:
        asked = {**scenario.CPU_RAY, "PATCHKIT_JOURNAL": str(journal)}
        env = {**scenario.CPU, **EXECUTORS[executor], **ray.environment, **asked}
        words = (*scenario.RAY, "--patchkit")
        outcome = scenario.generate(
            python, model, tmp_path / "run.log", *words, env=env
        )
    report = scenario.report(outcome)
    assert report.tokens == baseline
    assert [worker.ray for worker in report.workers] == [True, True]
    found = read_directory(journal)
    held = {each.pid: (each.roles, each.patches[ROW].status) for each in found}
    one, other = (worker.pid for worker in report.workers)
    assert one != other
    assert held[one] == held[other] == (["worker"], "applied")


@pytest.mark.parametrize(
    ("machine", "keys", "reason"),
    [
        ({**scenario.CPU}, [None, "", ""], "PATCHKIT_CPU_RAY is not set"),
        (
            {**scenario.MACHINE, **scenario.CPU_RAY},
            [None, "NPU", ""],
            "the platform is simnpu_platform.platform.SimNPUPlatform, not vLLM's own for CPUs",
        ),
    ],
    ids=["not asked for", "another platform"],
)
def test_nothing_is_changed_elsewhere(
    machine: dict[str, str],
    keys: list[str | None],
    reason: str,
    python: Path,
    tmp_path: Path,
) -> None:
    """Not asked to, and on a platform that derives from the one for CPUs, all is as it was."""
    env = processes.environment({**machine, "PATCHKIT_JOURNAL": str(tmp_path)})
    outcome = processes.run([str(python), "-c", ASK], env, 600, tmp_path / "ask.log")
    assert outcome.said("keys") == {"keys": keys}, outcome.tail()
    (process,) = read_directory(tmp_path)
    assert (process.patches[ROW].status, process.patches[ROW].reason) == (
        "skipped",
        reason,
    )
