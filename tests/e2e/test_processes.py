"""Processes of the real vLLM that are known by the table: weight-cache daemons, late actors.

Takes about 90 s.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environments
import pytest
from patchkit_lab import processes, scenario

if TYPE_CHECKING:
    from patchkit_lab.cluster import Cluster

HERE = Path(__file__).parent
DAEMON = (
    "vllm.model_executor.model_loader.weight_cache.daemon:WeightCacheDaemon.load_model"
)
ACTOR = "vllm.v1.executor.ray_executor_v2:RayWorkerProc.run"
ROWS = """
from patchkit import Patch, Role, Wrap
PATCHES = (
    Patch(name="acme-worker", body="patch_acme", requires=("vllm>=0.20",), roles={{Role.WORKER}},
          changes=(Wrap({target!r}, by="tell"),)),
)
"""
BODY = """
import os
def tell(wrapped, instance, args, kwargs):
    key = getattr(instance, "cache_key", None)
    print(f"ACME {os.getpid()} {key.vllm_version}", flush=True)
    return wrapped(*args, **kwargs)
"""


@pytest.fixture(scope="session")
def hybrid() -> Path:
    """The Python of vLLM 0.33.0."""
    return environments.ensure("vllm-0.33.0-hybrid")


def pack(folder: Path, target: str) -> dict[str, str]:
    """A pack with a worker patch of one target, and a folder for journals."""
    acme = folder / "acme"
    acme.mkdir()
    (acme / "__init__.py").write_text(ROWS.format(target=target))
    (acme / "patch_acme.py").write_text(BODY)
    journal = {"PATCHKIT_JOURNAL": str(folder / "journal")}
    return {"PYTHONPATH": str(folder), "PATCHKIT_PATCHES": "acme", **journal}


def status(python: Path, folder: Path) -> dict[int, dict[str, Any]]:
    """What `patchkit status` says of each process."""
    command = [
        str(python),
        "-m",
        "patchkit",
        "status",
        str(folder / "journal"),
        "--format",
        "json",
    ]
    outcome = processes.run(
        command, processes.environment(), 200, folder / "status.log"
    )
    text = outcome.output
    return {
        one["pid"]: one for one in json.loads(text[text.index("{\n") :])["processes"]
    }


def test_a_worker_patch_reaches_the_weight_cache_daemon(
    hybrid: Path, tmp_path: Path
) -> None:
    """`_run_daemon`, spawned for real, is a patched worker up to the call for its device."""
    model = scenario.make_model(hybrid, tmp_path)
    env = processes.environment(scenario.VLLM, pack(tmp_path, DAEMON))
    command = [str(hybrid), "-m", "patchkit", "run", "--", str(hybrid)]
    driver = [str(HERE / "weight_cache_driver.py"), str(model)]
    outcome = processes.run([*command, *driver], env, 600, tmp_path / "driver.log")
    said = outcome.said("driver")
    assert said, outcome.tail()
    assert "no accelerator" in outcome.output or "accelerator device" in outcome.output
    # The patch was called there, and the key of the cache has the digest of the patches.
    pid = said["pid"]
    assert f"ACME {pid} 0.33.0, patches " in outcome.output
    daemon = status(hybrid, tmp_path)[pid]
    assert (daemon["roles"], daemon["rank"]) == (["worker"], 0)
    applied = [one["name"] for one in daemon["patches"] if one["status"] == "applied"]
    assert {"acme-worker", "weight-cache-knows-patches"} <= {*applied}


def test_actors_that_are_restarted_or_come_late(
    ray: Cluster, python: Path, tmp_path: Path
) -> None:
    """Each is a process of its own in `status`: a worker, with the worker's patch."""
    env = processes.environment(
        scenario.MACHINE, ray.environment, pack(tmp_path, ACTOR)
    )
    command = [str(python), str(HERE / "late_actors_driver.py")]
    outcome = processes.run(command, env, 600, tmp_path / "driver.log")
    said = outcome.said("driver")
    assert said, outcome.tail()
    pids = said["driver"]
    assert len({*pids}) == 3, outcome.tail()
    seen = status(python, tmp_path)
    for pid in pids:
        assert seen[pid]["roles"] == ["worker"]
        assert ("acme-worker", "applied") in {
            (one["name"], one["status"]) for one in seen[pid]["patches"]
        }
