"""`patchkit new` on targets of a real vLLM: what it writes is listed, checked and run.

Takes about 25 s.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = {
    "wrap-schedule": ["vllm.v1.core.sched.scheduler:Scheduler.schedule"],
    "replace-worker": ["vllm.v1.executor.ray_utils:RayWorkerWrapper"],
    "edit-schedule": [
        "vllm.v1.request:Request.append_output_token_ids",
        "--kind",
        "edit",
    ],
    "add-option": ["vllm.config:CacheConfig.my_option", "--kind", "add-field"],
}


@pytest.fixture(scope="module")
def project(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a pack was started, a patch of each kind in it."""
    folder = tmp_path_factory.mktemp("project")
    for name, (target, *words) in TARGETS.items():
        given = [
            "--target",
            target,
            *words,
            "--pack",
            "my_pack",
            "--role",
            "engine-core",
        ]
        done = patchkit(python, folder, "new", name, *given)
        assert done.returncode == 0, done.stderr
    return folder


def patchkit(
    python: Path, folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    return run(python, folder, "-m", "patchkit", *words)


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder)}
    command = [str(python), *words]
    return subprocess.run(
        command,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_they_are_listed_and_hold(python: Path, project: Path) -> None:
    """Each is selected here; `check` finds what its author has to say, and the Edit of nothing."""
    listed = patchkit(
        python, project, "list", "--patches", "my_pack", "--format", "json"
    )
    rows = {one["name"]: one for one in json.loads(listed.stdout)["patches"]}
    assert [rows[name]["selected"] for name in TARGETS] == [True] * len(TARGETS)
    words = ["check", *TARGETS, "--patches", "my_pack", "--format", "json"]
    data = json.loads(patchkit(python, project, *words).stdout)
    told = {one["code"] for one in data["findings"] if one["severity"] != "info"}
    assert told == {"PK113", "PK511", "PK512", "PK513"}
    states = {name: data["grid"][name]["vllm 0.32.0"] for name in TARGETS}
    assert states == {**dict.fromkeys(TARGETS, "ok"), "edit-schedule": "broken"}


@pytest.mark.parametrize("installed", [False, True])
def test_their_tests_are_green_and_red_for_the_right_reason(
    python: Path, project: Path, installed: bool
) -> None:
    """What can be applied is; an Edit of nothing, and what only an author knows, is red.

    The same once the pack is installed, which vLLM's plugins would apply as a whole.
    """
    if installed:
        info = project / "my_pack-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: my-pack\nVersion: 1\n"
        )
        (info / "entry_points.txt").write_text(
            "[patchkit.patches]\nmy_pack = my_pack\n"
        )
    done = run(python, project, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    failed = {
        line.split()[1]
        for line in done.stdout.splitlines()
        if line.startswith("FAILED")
    }
    purposes = {
        f"tests/test_{name.replace('-', '_')}.py::test_what_it_is_for"
        for name in TARGETS
    }
    unedited = "tests/test_edit_schedule.py::test_it_applies"
    assert failed == {*purposes, unedited}, done.stdout[-4000:]
    assert done.stdout.count("Failed: fill in") >= len(TARGETS)
    assert f"{len(TARGETS) + 1} failed, {len(TARGETS) - 1} passed" in done.stdout
