"""A real Ray: what its workers are told, and what `patchkit status --ray` gathers.

Takes about 115 s.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from patchkit_lab import cluster as clusters
from patchkit_lab import processes, scenario

from patchkit.ray import runtime_env

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchkit_lab.cluster import Cluster

DRIVER = Path(__file__).with_name("ray_driver.py")
HOOK = "worker_process_setup_hook"
HOOKS = """
import os
from patchkit.runtime.reach.arming import current

def begin():
    os.environ["HOOK_SAW"] = str(current() is not None)
"""


@pytest.fixture(scope="module")
def second(
    ray: Cluster, python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A second node of the cluster, with a journal directory of its own; that directory."""
    journal = tmp_path_factory.mktemp("second")
    mark = {"LAB_CLUSTER": str(ray.directory), "PATCHKIT_JOURNAL": str(journal)}
    env = processes.environment(scenario.MACHINE, ray.environment, mark)
    del env["RAY_ADDRESS"]
    ports = map(str, clusters.free_ports(3))
    names = (
        "dashboard-agent-listen-port",
        "runtime-env-agent-port",
        "metrics-export-port",
    )
    options = {
        "address": ray.address,
        "num-cpus": "1",
        "object-store-memory": "100000000",
        "min-worker-port": "0",
        "max-worker-port": "0",
        **dict(zip(names, ports, strict=True)),
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    before = ray.pids()
    command = [str(python.with_name("ray")), "start", "--disable-usage-stats", *flags]
    outcome = processes.run(command, env, 600, ray.directory / "second.log", leave=True)
    assert outcome.status == 0, outcome.tail()
    yield journal
    processes.end(ray.pids() - before)


def status(
    python: Path, ray: Cluster, log: Path, *words: str
) -> tuple[int | None, dict[str, Any]]:
    """The exit code of `patchkit status --ray`, and what it says."""
    command = [
        str(python),
        "-m",
        "patchkit",
        "status",
        "--ray",
        ray.address,
        "--format",
        "json",
    ]
    env = processes.environment(scenario.MACHINE, {"RAY_AUTH_MODE": "disabled"})
    outcome = processes.run([*command, *words], env, 600, log)
    return outcome.status, json.loads(outcome.output[outcome.output.index("{\n") :])


def driven(
    python: Path, ray: Cluster, directory: Path, *words: str, **more: str
) -> dict[str, Any]:
    """Run the driver; what it printed."""
    (directory / "hooks.py").write_text(HOOKS)
    told = {
        "PATCHKIT_JOURNAL": str(directory / "journal"),
        "PYTHONPATH": str(directory),
    }
    env = processes.environment(scenario.MACHINE, ray.environment, told, more)
    log = directory / "driver.log"
    outcome = processes.run([str(python), str(DRIVER), *words], env, 600, log)
    assert outcome.status == 0, outcome.tail()
    said = outcome.said("driver")
    assert said, outcome.tail()
    return said


@pytest.mark.parametrize("hook", ["none", "name", "function"])
def test_a_task_and_an_actor_are_armed(
    python: Path, ray: Cluster, tmp_path: Path, hook: str
) -> None:
    """Both are main processes; a hook that was there before runs too, after patchkit."""
    seen = driven(python, ray, tmp_path, hook)
    saw = None if hook == "none" else "True"
    for place in ("task", "actor"):
        assert (seen[place]["roles"], seen[place]["hook"]) == (["main"], saw)
    code, data = status(python, ray, tmp_path / "status.log", str(tmp_path / "journal"))
    assert code == 0, data["findings"]
    parents = {
        one["pid"]: one["parent"] and one["parent"]["pid"] for one in data["processes"]
    }
    assert (
        parents[seen["task"]["pid"]] == parents[seen["actor"]["pid"]] == seen["driver"]
    )
    assert parents[seen["driver"]] is None


@pytest.mark.parametrize("hook", ["name", "function"])
def test_an_actor_may_give_its_environment_to_ray_again(
    python: Path, ray: Cluster, tmp_path: Path, hook: str
) -> None:
    """A process that an actor starts joins with the actor's environment, as vLLM's engine core
    does; what it asks for is armed there too, and runs the other hook.
    """
    within = driven(python, ray, tmp_path, hook, "within")["within"]
    assert (within["roles"], within["hook"]) == (["main"], "True")


def test_a_job_that_was_submitted(
    python: Path, ray: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's job server hands the environment of a submission to the driver in this variable.

    The server itself is part of the dashboard, which needs packages that vLLM does without.
    """
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(tmp_path / "journal"))
    base = {HOOK: "hooks.begin", "env_vars": {"PYTHONPATH": str(tmp_path)}}
    config = json.dumps({"runtime_env": runtime_env(base)})
    seen = driven(python, ray, tmp_path, "job", RAY_JOB_CONFIG_JSON_ENV_VAR=config)
    for place in ("task", "actor"):
        assert (seen[place]["roles"], seen[place]["hook"]) == (["main"], "True")


def test_every_node_reads_its_own_directory(
    python: Path, ray: Cluster, second: Path, tmp_path: Path
) -> None:
    """Each where PATCHKIT_JOURNAL says there; the node that has none is named."""
    name = f"far-7-{10**18}.jsonl"
    (second / name).write_text(
        '{"event":"armed","host":"far","pid":7}\n{"event":"role","role":"main"}'
    )
    code, data = status(python, ray, tmp_path / "status.log")
    assert code == 1
    assert [(one["host"], one["roles"]) for one in data["processes"]] == [
        ("far", ["main"])
    ]
    (finding,) = data["findings"]
    assert finding["kind"] == "no-answer"
    assert finding["message"].startswith(
        f"node {os.uname().nodename}: PATCHKIT_JOURNAL is not set"
    )
    assert data["journals"] == [str(second)]


def test_an_engine_on_ray_is_a_tree(
    python: Path, ray: Cluster, model: Path, tmp_path: Path
) -> None:
    """Main, engine core, two workers with their ranks, all with the same patches."""
    chosen = scenario.SCENARIOS["ray-v2"]
    env = {**scenario.MACHINE, **scenario.BACKEND, **chosen.settings, **ray.environment}
    env["PATCHKIT_JOURNAL"] = str(tmp_path / "journal")
    log = tmp_path / "generate.log"
    outcome = scenario.generate(
        python, model, log, *chosen.arguments, "--patchkit", env=env
    )
    report = scenario.report(outcome)
    code, data = status(python, ray, tmp_path / "status.log", str(tmp_path / "journal"))
    assert code == 0, data["findings"]
    one = {process["pid"]: process for process in data["processes"]}
    workers = [one[worker.pid] for worker in report.workers]
    assert sorted(worker["rank"] for worker in workers) == [0, 1]
    (core,) = {worker["parent"]["pid"] for worker in workers}
    assert one[core]["roles"] == ["engine-core"]
    assert one[core]["parent"]["pid"] == report.main
    assert workers[0]["digest"] == workers[1]["digest"]
    assert data["agreement"] == {"main": True, "engine-core": True, "worker": True}


def test_nobody_at_the_address(python: Path, tmp_path: Path) -> None:
    """One line within seconds, exit code 2."""
    address = f"{clusters.HOST}:{clusters.free_ports(1)[0]}"
    command = [str(python), "-m", "patchkit", "status", "--ray", address]
    outcome = processes.run(command, processes.environment(), 200, tmp_path / "log")
    assert outcome.status == 2
    assert outcome.output.startswith(f"patchkit: --ray {address}: nobody answers there")
    assert outcome.output.count("\n") == 1


# -- a user's class -------------------------------------------------------------------------------

UP = """
def function(): return "old"
class Base:
    def inherited(self): return "old"
"""
ROWS = """
from patchkit import Patch, Role, Wrap
PATCHES = (
    Patch(
        name="p", body="patch_up", requires=("up",), roles=set(Role),
        changes=(Wrap("up.mod:function", by="by"), Wrap("up.mod:Base.inherited", by="by")),
    ),
)
"""
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)


def test_what_a_users_actor_refers_to_is_patched(
    python: Path, ray: Cluster, tmp_path: Path
) -> None:
    """The driver is not armed; the class reaches its process by value, its names patched there."""
    for name, text in {
        "up/__init__.py": "",
        "up/mod.py": UP,
        "rows/__init__.py": ROWS,
        "rows/patch_up.py": BY,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    told = {
        "PYTHONPATH": str(tmp_path),
        "PATCHKIT_PATCHES": "rows",
        "PATCHKIT_VERSIONS": "up=1.0",
    }
    env = processes.environment(scenario.MACHINE, ray.environment, told)
    driver = DRIVER.with_name("user_actor_driver.py")
    outcome = processes.run(
        [str(python), str(driver)], env, 600, tmp_path / "driver.log"
    )
    assert outcome.status == 0, outcome.tail()
    new = ["by", "old"]
    found = json.loads(
        next(line for line in outcome.output.splitlines() if "direct" in line)
    )
    assert found == {"actor": [new] * 4, "direct": new, "task": new}
