"""The repository of a pack on a simulated GitHub, and vLLM's, which has what is installed here."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gh_stand_in
import pytest
import yaml
from workflow_machine import REPOSITORY, Machine, commit, git
from workflow_runner import Job, Runner, path_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workflow_runner import Action

PAGES = [
    (REPOSITORY / "docs" / name).read_text("utf-8") for name in ("ci.md", "watch.md")
]
BLOCK = r"<!-- \.github/workflows/{} -->\n```yaml\n(.*?)^```"
TARGET = "vllm/v1/core/sched/utils.py"
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "my-pack"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["my_pack"]
[tool.patchkit]
packs = ["my_pack"]
releases = ["vllm>=0.33"]
"""
PACK = """
from patchkit import Patch, Role, Wrap

PATCHES = (
    Patch(
        name="my-stop",
        body="patch_stop",
        requires=("vllm>=0.20,<0.34",),
        roles={Role.ENGINE_CORE},
        changes=(Wrap("vllm.v1.core.sched.utils:check_stop", by="around"),),
        why="a test needs a patch",
        upstream="none: a test",
        sunset="the test is gone",
    ),
)
"""
BODY = "def around(wrapped, instance, args, kwargs):\n    return wrapped(*args, **kwargs)\n"


def workflow(name: str) -> dict[str, Any]:
    """A workflow as the page has it."""
    (found,) = re.findall(
        BLOCK.format(re.escape(name)), "".join(PAGES), re.MULTILINE | re.DOTALL
    )
    data: dict[str, Any] = yaml.safe_load(found)
    return data


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine on which packages are built with what it has, which takes a third of the time."""
    home = tmp_path_factory.mktemp("machine")
    one = Machine.make(home)
    builders = ("hatchling", "hatch-fancy-pypi-readme", "editables")
    one.called("pip", "install", "--quiet", "vllm-patchkit", *builders, cwd=home)
    one.environ["PIP_NO_BUILD_ISOLATION"] = "0"  # as pip reads it: no isolation
    return one


@pytest.fixture(scope="module")
def newest(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The newest release that the index has."""
    said = machine.called(
        "pip", "index", "versions", "vllm", cwd=tmp_path_factory.mktemp("pip")
    )
    return said.split("(", 1)[1].split(")", 1)[0]


def no_sources(directory: str, names: list[str]) -> set[str]:
    """Names in a folder of an installed package that a checkout lacks.

    Bytecode is left out by its folder's name: other tests write some meanwhile.
    """
    folder = Path(directory)
    folders = {name for name in names if (folder / name).is_dir()} - {"__pycache__"}
    sources = {name for name in names if name.endswith(".py")}
    return set(names) - folders - sources


@pytest.fixture(scope="module")
def released(newest: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository of vLLM: a tag for the newest release, which main has not left yet."""
    folder = tmp_path_factory.mktemp("vllm-project") / "vllm"
    spec = importlib.util.find_spec("vllm")
    assert spec
    assert spec.origin

    shutil.copytree(Path(spec.origin).parent, folder / "vllm", ignore=no_sources)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    git(folder, "tag", f"v{newest}")
    return folder


@pytest.fixture
def upstream(released: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    folder = tmp_path / "vllm-project" / "vllm.git"
    git(tmp_path, "clone", "--quiet", str(released), str(folder))
    return folder


@pytest.fixture
def pack(machine: Machine, upstream: Path, tmp_path: Path) -> Path:
    """The user's repository: a pack, and a lock of what has been reviewed."""
    folder = tmp_path / "repository"
    (folder / "my_pack").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "my_pack" / "__init__.py").write_text(PACK)
    (folder / "my_pack" / "patch_stop.py").write_text(BODY)
    # Before what an earlier test has installed.
    reviewed = {"VLLM_VERSION": "0.33.0", "PYTHONPATH": str(folder)}
    words = ("lock", "--path", str(upstream))
    machine.called("patchkit", *words, cwd=folder, **reviewed)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    return folder


@dataclass
class Repository:
    """The user's repository on GitHub.

    Args:
        machine: what its jobs run on.
        home: an empty folder.
        pack: what a checkout gives.
        upstream: what a clone of vLLM gives.
    """

    machine: Machine
    home: Path
    pack: Path
    upstream: Path

    def __post_init__(self) -> None:
        tools = self.home / "tools"
        tools.mkdir(parents=True)
        call = shlex.join([sys.executable, gh_stand_in.__file__])
        (tools / "gh").write_text(f'#!/bin/sh\nexec {call} "$@"\n')
        (tools / "gh").chmod(0o755)
        self._file = self.home / "issues.json"
        self._file.write_text(json.dumps({"calls": [], "open": None, "body": ""}))
        self.uploads: list[str] = []
        python = {"PATH": path_with(self.machine.bin, self.machine.environ)}
        self._environ = {
            **self.machine.environ,
            "PATH": path_with(tools, python),
            "GH_STAND_IN": str(self._file),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.file://{self.upstream.parent}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/vllm-project/",
        }

    @property
    def issues(self) -> dict[str, Any]:
        """The issues, and what was called."""
        data: dict[str, Any] = json.loads(self._file.read_text())
        self._file.write_text(json.dumps({**data, "calls": []}))
        return data

    def run(
        self,
        file: str,
        job: str,
        before: Mapping[str, Mapping[str, str]] | None = None,
        **contexts: Any,
    ) -> Job:
        """Run a job of a workflow."""
        github = {
            "token": "a-token",
            "repository": "me/my-pack",
            "repository_owner": "me",
        }
        jobs = self.home / "jobs"
        jobs.mkdir(exist_ok=True)
        actions: dict[str, Action | Path] = {
            "actions/checkout": self._check_out,
            "actions/setup-python": self._set_up,
            "actions/upload-artifact": self._upload,
            "./.patchkit": REPOSITORY,
        }
        runner = Runner(
            workflow(file), jobs, actions, self._environ, before or {}, github
        )
        return runner.run(job, **contexts)

    def watch(
        self, job: str, before: Mapping[str, Mapping[str, str]] | None = None
    ) -> Job:
        """Run the watch for the newest release, or for main."""
        return self.run("watch.yml", "check", before, matrix={"upstream": job})

    def _check_out(self, workspace: Path, _: object, given: Mapping[str, str]) -> None:
        if given.get("repository") == "me/patchkit":
            (workspace / given["path"]).symlink_to(REPOSITORY)
        else:
            git(workspace, "clone", "--quiet", str(self.pack), ".")

    def _set_up(self, _: Path, environ: dict[str, str], __: object) -> None:
        environ["PATH"] = path_with(self.machine.bin, environ)

    def _upload(self, _: Path, __: object, given: Mapping[str, str]) -> None:
        assert Path(given["path"]).read_text().startswith("<!doctype html>")
        self.uploads.append(given["name"])


@pytest.fixture
def repository(
    machine: Machine, tmp_path: Path, pack: Path, upstream: Path
) -> Repository:
    """The user's repository on GitHub, without issues."""
    return Repository(machine, tmp_path / "github", pack, upstream)


def change(upstream: Path, newest: str, old: str, new: str) -> None:
    """Have upstream release, and go on with, something else."""
    file = upstream / TARGET
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    commit(upstream)
    git(upstream, "tag", "--force", f"v{newest}")
