"""A pack that is not patchkit's, with one patch a role, seen to act inside a real engine.

Takes about 4 min.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from packs import ENTRY, Pack
from patchkit_lab import cluster, processes, scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """A fresh pack, that nothing has run yet."""
    return Pack(tmp_path)


def run(
    python: Path,
    model: Path,
    pack: Pack,
    arguments: tuple[str, ...],
    env: Mapping[str, str],
) -> scenario.Report:
    """Generate with the pack."""
    log = pack.directory / "engine.log"
    env = {**scenario.BACKEND, **env, **pack.settings}
    outcome: processes.Outcome = scenario.generate(
        python, model, log, *arguments, "--patchkit", env=env
    )
    return scenario.report(outcome)


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=pytest.mark.every_cell), "spawn"]
)
def test_each_patch_runs_in_its_process_and_only_there(
    method: str, python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Main, engine core and worker each run the patch of their role, forked and spawned; the engine
    core also one of the very function that it was started to run.
    """
    pack = Pack(tmp_path, more=ENTRY)
    env = {**scenario.MACHINE, "VLLM_WORKER_MULTIPROC_METHOD": method}
    report = run(python, model, pack, ("--executor", "mp"), env)
    seen = pack.seen()
    assert report.tokens == baseline
    assert seen["main"] == {report.main}
    assert seen["worker"] == {worker.pid for worker in report.workers}
    assert len(seen["core"]) == 1
    assert seen["core"] == seen["entry"]
    assert not seen["core"] & (seen["main"] | seen["worker"])


def test_each_patch_runs_in_its_process_on_ray(
    python: Path, model: Path, baseline: list[int], tmp_path: Path
) -> None:
    """Ray's workers learn of the pack, its `env` and their role from whoever asked for them."""
    pack = Pack(tmp_path, env="ACME_SEEN")
    with cluster.started(python, {**scenario.MACHINE, **pack.place}) as ray:
        env = {**scenario.MACHINE, **ray.environment}
        report = run(python, model, pack, scenario.RAY, env)
    seen = pack.seen()
    assert report.tokens == baseline
    assert seen["main"] == {report.main}
    assert seen["worker"] == {worker.pid for worker in report.workers}
    assert len(seen["worker"]) == 2
    assert len(seen["core"]) == 1
    assert not seen["core"] & (seen["main"] | seen["worker"])


def test_all_patches_run_in_a_single_process(
    python: Path, model: Path, baseline: list[int], pack: Pack
) -> None:
    """With VLLM_ENABLE_V1_MULTIPROCESSING=0 one process enters all three roles."""
    report = run(python, model, pack, ("--executor", "uni"), scenario.SINGLE)
    assert report.tokens == baseline
    seen = pack.seen()
    assert [seen[name] for name in ("main", "core", "worker")] == [{report.main}] * 3
