"""vLLM 0.32.0 on Rays that its executor V1 refuses, or that lack what it imports.

Takes about 2 min.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import environments
import pytest
from patchkit_lab import cluster, processes, scenario, served

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = Path(__file__).with_name("old_ray_driver.py")
V1 = scenario.SCENARIOS["ray-v1"]
V2 = scenario.SCENARIOS["ray-v2"]
SERVE = ("--distributed-executor-backend", "ray", "--tensor-parallel-size", "2")
CHECK = "ray-v1-version-check"
TRANSPORT = "ray-v1-tensor-transport"
COMMUNICATOR = "ray-v1-pipeline-communicator"
OVERLAP = "ray-v1-overlap-keyword"
REFERENCES = "ray-v1-list-of-references"
TIMES = "ray-v1-time-outs"
# In the order of what a pipeline without them dies of; without the last, nothing fails at once.
ROWS = (CHECK, TRANSPORT, COMMUNICATOR, OVERLAP, REFERENCES, TIMES)
REASONS = {
    TRANSPORT: "DAGNode of this Ray has with_tensor_transport",
    OVERLAP: "experimental_compile of this Ray takes _overlap_gpu_communication",
    REFERENCES: "a compiled graph of this Ray returns a list of references",
}
NONE = ("none",)
FORK = "ray=2.35.0"
NO_CONTEXT = "ModuleNotFoundError: No module named 'ray.experimental.channel.accelerator_context'"
FAILURES = (
    "ValueError: Ray version 2.43.0 is required, but found 2.35.0",
    "'ClassMethodNode' object has no attribute 'with_tensor_transport'",
    NO_CONTEXT,
    "unexpected keyword argument '_overlap_gpu_communication'",
    "'CompiledDAGRef' object is not subscriptable",
)


def said(worker: int, step: int) -> str:
    """What a worker of the last pipeline stage says in a step."""
    return f"{worker} {step} torch.bfloat16 {[float(step)] * 2}"


EXECUTED = {
    "first": [said(0, 1)],
    "later": [[said(0, 2)], [said(0, 3)]],
    "all": [[said(0, step), said(1, step)] for step in (4, 5)],
    "errors": ["ValueError: a stage failed"] * 2,
    "nccl": True,
}
UNTOUCHED = {"time-outs": [None, None, 300], "subscript": False}


class Lab:
    """One of the Rays, with its environment.

    Args:
        python: of the environment.
        ray: the cluster.
        model: to generate with.
        directory: for what is written.
    """

    def __init__(
        self, python: Path, ray: cluster.Cluster, model: Path, directory: Path
    ) -> None:
        self.python = python
        self.env = {**scenario.MACHINE, **scenario.BACKEND, **ray.environment}
        self.model = model
        self.directory = directory

    def generate(self, story: scenario.Scenario, journal: Path) -> list[int]:
        """The tokens of a run with patchkit."""
        env = {**self.env, **story.settings, "PATCHKIT_JOURNAL": str(journal)}
        words = (*story.arguments, "--patchkit")
        log = self.directory / "log"
        outcome = scenario.generate(self.python, self.model, log, *words, env=env)
        report = scenario.report(outcome)
        assert [worker.ray for worker in report.workers] == [True, True]
        return report.tokens

    def pipeline(self, *steps: tuple[str, ...]) -> list[dict[str, Any]]:
        """What comes of two pipeline stages, with the rows of each step."""
        command = [str(self.python), str(DRIVER), *map(",".join, steps)]
        env = processes.environment(self.env, {"SIMNPU": "0", "VLLM_PLUGINS": ""})
        outcome = processes.run(command, env, 600, self.directory / "pipeline.log")
        found = outcome.said("steps")
        assert found, outcome.tail()
        return list(found["steps"])


def applied(journal: Path) -> set[str]:
    """The rows of executor V1 that were applied in any process of a run."""
    return {
        name
        for process in read_directory(journal)
        for name, patch in process.patches.items()
        if patch.status == "applied" and name in ROWS
    }


@pytest.fixture(scope="module")
def old(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Ray 2.35.0."""
    python = environments.ensure("ray-2.35.0")
    with cluster.started(python, scenario.MACHINE) as ray:
        yield Lab(python, ray, model, tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def middle(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Ray 2.44.1."""
    python = environments.ensure("ray-2.44.1")
    with cluster.started(python, scenario.MACHINE) as ray:
        yield Lab(python, ray, model, tmp_path_factory.mktemp("middle"))


def test_two_stages_fail_in_order_until_the_rows_are_there(old: Lab) -> None:
    """On Ray 2.35.0, each row takes vLLM's real executor to what the next row is for."""
    *failed, whole, asked = old.pipeline(
        NONE, *(ROWS[:count] for count in range(1, 5)), ROWS
    )
    for found, expected in zip(failed, FAILURES, strict=True):
        assert expected in found["error"]
    assert whole == {**EXECUTED, "time-outs": [300, 300, None], "subscript": True}
    assert NO_CONTEXT in asked["error"]


@pytest.mark.every_cell
def test_two_stages_on_a_ray_that_vllm_accepts(middle: Lab) -> None:
    """On Ray 2.44.1, vLLM's executor needs the communicator's row, and no other.

    If it says it is 2.35.0, as a fork may that can do the same, it keeps vLLM's 300 s, and the rows
    for what it can do already say so. This comes first: Ray reads its time-outs once.
    """
    refusing = [(FORK, row) for row in REASONS]
    steps = ((FORK, TIMES, COMMUNICATOR), *refusing, NONE, (COMMUNICATOR,))
    fork, *refused, failed, whole, asked = middle.pipeline(*steps)
    assert fork == {**EXECUTED, **UNTOUCHED}
    for found, reason in zip(refused, REASONS.values(), strict=True):
        assert f"does not apply here: {reason}" in found["error"]
    assert NO_CONTEXT in failed["error"]
    assert whole == {**EXECUTED, **UNTOUCHED}
    assert NO_CONTEXT in asked["error"]


def test_executor_v1_serves_on_ray_2_35(
    old: Lab, baseline: list[int], tmp_path: Path
) -> None:
    """`patchkit run -- vllm serve` answers with the baseline's tokens, at once and in a stream."""
    served.describe(old.directory, "0.32.0+cpu")
    own = {"PYTHONPATH": str(old.directory), "PATCHKIT_JOURNAL": str(tmp_path)}
    env = processes.environment(old.env, V1.settings, own)
    command = [str(old.python.with_name("patchkit")), "run", "--"]
    command += served.command_line(old.python, old.model, *SERVE)
    with served.running(command, env, old.directory / "log") as address:
        whole = served.complete(address, old.model)
        chunks = served.stream(address, old.model)
    assert whole == baseline
    streamed = [token for chunk in chunks for token in chunk]
    assert (streamed[:8], len(streamed)) == (baseline, 100)
    assert len(chunks) > 1
    assert applied(tmp_path) == set(ROWS)


@pytest.mark.every_cell
def test_executor_v2_generates_on_ray_2_35(
    old: Lab, baseline: list[int], tmp_path: Path
) -> None:
    """It needs none of the rows, and they do not disturb it."""
    assert old.generate(V2, tmp_path) == baseline


@pytest.mark.every_cell
def test_executor_v1_generates_on_ray_2_44(
    middle: Lab, baseline: list[int], tmp_path: Path
) -> None:
    """The communicator's row is enough, and the only one of them that is applied."""
    assert middle.generate(V1, tmp_path) == baseline
    assert applied(tmp_path) == {COMMUNICATOR}


def test_each_ray_gets_the_rows_that_it_needs(
    old: Lab, middle: Lab, python: Path
) -> None:
    """`patchkit list` selects all on Ray 2.35.0, one on 2.44.1, none on 2.60.0: out of range."""
    assert listed(old.python) == {}
    assert set(listed(middle.python)) == set(ROWS) - {COMMUNICATOR}
    reasons = listed(python)
    assert set(reasons) == set(ROWS)
    assert all("ray 2.60.0 is outside" in reason for reason in reasons.values())


def listed(python: Path) -> dict[str, str]:
    """Why the rows of executor V1 that are not selected are not."""
    command = [str(python), "-m", "patchkit", "list", "--all", "--format", "json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    patches = [one for one in found["patches"] if one["name"] in ROWS]
    assert len(patches) == len(ROWS)
    return {one["name"]: one["reason"] for one in patches if not one["selected"]}
