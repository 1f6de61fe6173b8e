"""`examples/pack-template`, built as a wheel elsewhere, in an environment with a real vLLM.

Takes about 45 s.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import folders
import pytest
import toolbox
from patchkit_lab import scenario

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATE = folders.REPOSITORY / "examples" / "pack-template"
ROLES = {
    "log-slow-outputs": "main",
    "log-slow-scheduling": "engine-core",
    "log-slow-steps": "worker",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the template, in no repository."""
    copy = tmp_path_factory.mktemp("outside") / "acme"
    shutil.copytree(
        TEMPLATE, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache")
    )
    return copy


@pytest.fixture(scope="module")
def env(python: Path, project: Path) -> dict[str, str]:
    """The environment of a process that finds the pack's wheel, installed."""
    index = toolbox.index_options()
    build = ["build", "--wheel", "--quiet", *index, "--out-dir", str(project / "dist")]
    subprocess.run(toolbox.uv(*build, str(project)), check=True, timeout=600)
    (wheel,) = (project / "dist").glob("acme_patches-*.whl")
    site = project.parent / "site"
    install = [
        "pip",
        "install",
        "--quiet",
        "--python",
        str(python),
        "--no-deps",
        *index,
    ]
    command = toolbox.uv(*install, "--target", str(site), str(wheel))
    subprocess.run(command, check=True, timeout=600)
    own = {"PYTHONPATH": str(site), "PATCHKIT_JOURNAL": str(site / "journal")}
    return {**os.environ, **scenario.CPU, "VLLM_PLUGINS": "patchkit", **own}


def patchkit(
    python: Path, env: dict[str, str], cwd: Path, *words: str, code: int = 0
) -> Any:
    """What a command answers in JSON, run outside of the pack's repository."""
    command = [str(python), "-m", "patchkit", *words, "--format", "json"]
    done = subprocess.run(
        command,
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_its_rows_are_listed_and_hold(
    python: Path, env: dict[str, str], tmp_path: Path
) -> None:
    """The entry point brings them; they hold in every release of their range, and are reviewed."""
    listed = patchkit(python, env, tmp_path, "list")["patches"]
    own = {one["name"]: one for one in listed if one["pack"] == "acme_patches"}
    assert {name: one["roles"] for name, one in own.items()} == {
        name: [role] for name, role in ROLES.items()
    }
    assert all(one["selected"] for one in own.values())
    report = patchkit(
        python, env, tmp_path, "check", *ROLES, "--releases", "vllm>=0.30,<0.34"
    )
    assert set(report["grid"]) == set(ROLES)
    assert {state for row in report["grid"].values() for state in row.values()} == {
        "ok"
    }


def test_its_lock_is_up_to_date_where_it_is_written(
    python: Path, project: Path
) -> None:
    """In the repository of the pack, whose settings name the releases."""
    command = [str(python), "-m", "patchkit", "lock", "--check"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_tests_pass(python: Path, project: Path, env: dict[str, str]) -> None:
    """With the vLLM that is there, so none is skipped."""
    command = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--patchkit-strict",
    ]
    done = subprocess.run(
        command,
        env=env,
        cwd=project,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


def test_each_patch_is_in_effect_in_its_process(
    python: Path, model: Path, env: dict[str, str], tmp_path: Path, baseline: list[int]
) -> None:
    """Installed, with no variable and no word of code: vLLM loads patchkit as a plugin."""
    outcome = scenario.generate(
        python,
        model,
        tmp_path / "log",
        *("--executor", "mp"),
        env={**env, "ACME_SLOW_SECONDS": "0", "VLLM_WORKER_MULTIPROC_METHOD": "spawn"},
    )
    assert scenario.report(outcome).tokens == baseline
    seen = patchkit(python, env, tmp_path, "status", env["PATCHKIT_JOURNAL"])[
        "processes"
    ]
    for name, role in ROLES.items():
        patches = {
            process["pid"]: patch
            for process in seen
            for patch in process["patches"]
            if patch["name"] == name and role in process["roles"]
        }
        assert [one["status"] for one in patches.values()] == ["applied"], name
        assert [one["in_effect"] for one in patches.values()] == ["yes"], name
    for name in ("process_outputs", "Scheduler.schedule", "execute_model"):
        assert f"{name} took 0.0 s" in outcome.output
