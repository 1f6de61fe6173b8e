"""The seed's failure and its cure on a real vLLM 0.32.0, over two simulated NPUs.

Takes about 2 min.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from patchkit_lab import processes, scenario

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from pathlib import Path

every = pytest.mark.every_cell
# The lane of this release runs both executors over Ray, and test_lanes.py one of them.
every_scenario = pytest.mark.parametrize(
    "name",
    [
        "mp-spawn",
        pytest.param("ray-v2", marks=every),
        pytest.param("ray-v1", marks=every),
    ],
)


class Runner:
    """Runs the scenarios with one model, and where they need it on one Ray."""

    def __init__(
        self, request: pytest.FixtureRequest, python: Path, model: Path, directory: Path
    ):
        self._request = request
        self._python = python
        self._model = model
        self.directory = directory

    def __call__(self, name: str, *flags: str, **settings: str) -> processes.Outcome:
        """Run one scenario; flags are the script's, settings go into its environment."""
        chosen = scenario.SCENARIOS[name]
        env = {**scenario.MACHINE, **scenario.BACKEND, **chosen.settings}
        if chosen.ray:
            env.update(self._request.getfixturevalue("ray").environment)
        env.update(settings, PATCHKIT_JOURNAL=str(self.directory / "journal"))
        log = self.directory / f"{name}.log"
        arguments = (*chosen.arguments, *flags)
        return scenario.generate(self._python, self._model, log, *arguments, env=env)

    def roles(self) -> dict[int, list[str]]:
        """The roles of every process that kept a journal."""
        found = read_directory(self.directory / "journal")
        return {process.pid: process.roles for process in found}


@pytest.fixture
def run(
    request: pytest.FixtureRequest, python: Path, model: Path, tmp_path: Path
) -> Runner:
    """Run a scenario by name."""
    return Runner(request, python, model, tmp_path)


@every_scenario
def test_without_patchkit_it_fails_with_the_device_string(
    name: str, run: Runner
) -> None:
    """Switched off, patchkit leaves each executor to the seed's own error."""
    outcome = run(name, "--patchkit", PATCHKIT="0")
    assert outcome.status not in (0, None), outcome.tail()
    assert scenario.error_line(outcome), outcome.tail()
    assert run.roles() == {}


@every_scenario
def test_with_patchkit_it_generates_the_baseline(
    name: str, run: Runner, baseline: list[int]
) -> None:
    """`import patchkit.auto` in the main process alone makes each executor work."""
    report = scenario.report(run(name, "--patchkit"))
    assert report.tokens == baseline
    assert_workers(report, run, name)


@every
@pytest.mark.parametrize("name", ["ray-v2", "mp-spawn"])
def test_as_a_plugin_it_generates_the_baseline(
    name: str, run: Runner, baseline: list[int]
) -> None:
    """Installed as a vLLM plugin it needs no line in the script."""
    report = scenario.report(run(name, VLLM_PLUGINS="simnpu,patchkit"))
    assert report.tokens == baseline
    assert_workers(report, run, name)


def assert_workers(report: scenario.Report, run: Runner, name: str) -> None:
    """The workers are the executor's own, not a substitute's, and each held its role."""
    chosen = scenario.SCENARIOS[name]
    assert [worker.ray for worker in report.workers] == [chosen.ray] * chosen.workers
    roles = run.roles()
    assert roles[report.main] == ["main"]
    assert [roles.get(worker.pid) for worker in report.workers] == [
        ["worker"]
    ] * chosen.workers
    assert (
        sorted(role for held in roles.values() for role in held).count("engine-core")
        == 1
    )
