"""
The workflows of docs/watch.md, run: bash, pip, git and patchkit are real, and so is vLLM's source.

What is simulated: GitHub's runner (`workflow_runner`), `gh` (`gh_stand_in`), the two actions, and
the repository of vLLM, which git's own `insteadOf` puts in a folder; its files are those of the
release that is installed here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gh_stand_in
import pytest
import yaml
from workflow_runner import Job, Runner, path_with

if TYPE_CHECKING:
    from collections.abc import Mapping

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "watch.md").read_text("utf-8")
BLOCK = r"<!-- \.github/workflows/{} -->\n```yaml\n(.*?)^```"
TARGET = "vllm/v1/core/sched/utils.py"
UNREACHABLE = {
    "PIP_CONFIG_FILE": os.devnull,
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}
"""Nobody listens there."""

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "my-pack"
version = "1.0"
[tool.hatch.build.targets.wheel]
packages = ["my_pack"]
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
    found = re.search(BLOCK.format(re.escape(name)), PAGE, re.MULTILINE | re.DOTALL)
    assert found
    data: dict[str, Any] = yaml.safe_load(found[1])
    return data


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, timeout=300)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "as it is")


@dataclass
class Machine:
    """
    What the jobs run on.

    Args:
        bin: of the Python that `setup-python` gives.
        environ: of every step.

    """

    bin: Path
    environ: dict[str, str]

    def called(self, *words: str, cwd: Path, **more: str) -> str:
        """Run a command of that Python's environment."""
        environ = {**self.environ, "PATH": path_with(self.bin, self.environ), **more}
        return subprocess.run(
            words, cwd=cwd, env=environ, check=True, capture_output=True, text=True, timeout=600
        ).stdout


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A Python with pip and nothing else, and patchkit's wheel beside the index of this machine."""
    home = tmp_path_factory.mktemp("machine")
    venv.create(home / "python", with_pip=True, symlinks=True)
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    for name in [name for name in kept if name.startswith(("PATCHKIT", "VLLM_", "GIT_"))]:
        del kept[name]
    links = f"{kept.get('PIP_FIND_LINKS', '')} {home / 'dist'}".strip()
    one = Machine(home / "python" / "bin", {**kept, "PIP_FIND_LINKS": links})
    words = ("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", str(REPOSITORY))
    one.called(*words, cwd=home)
    return one


@pytest.fixture(scope="module")
def newest(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The newest release that the index has."""
    said = machine.called("pip", "index", "versions", "vllm", cwd=tmp_path_factory.mktemp("pip"))
    return said.split("(", 1)[1].split(")", 1)[0]


@pytest.fixture(scope="module")
def released(newest: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository of vLLM: a tag for the newest release, which main has not left yet."""
    folder = tmp_path_factory.mktemp("vllm-project") / "vllm"
    spec = importlib.util.find_spec("vllm")
    assert spec
    assert spec.origin

    def others(directory: str, names: list[str]) -> set[str]:
        here = Path(directory)
        return {one for one in names if (here / one).is_file() and not one.endswith(".py")}

    shutil.copytree(Path(spec.origin).parent, folder / "vllm", ignore=others)
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
    machine.called("pip", "install", "--quiet", "vllm-patchkit", cwd=folder)
    reviewed = {"VLLM_VERSION": "0.33.0", "PYTHONPATH": str(folder)}
    words = ("lock", "--patches", "my_pack", "my-stop", "--path", str(upstream))
    machine.called("patchkit", *words, cwd=folder, **reviewed)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    return folder


@dataclass
class Repository:
    """
    The user's repository on GitHub.

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
        self._environ = {
            **self.machine.environ,
            "PATH": path_with(tools, self.machine.environ),
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
        github = {"token": "a-token", "repository": "me/my-pack"}
        jobs = self.home / "jobs"
        jobs.mkdir(exist_ok=True)
        actions = {"actions/checkout": self._check_out, "actions/setup-python": self._set_up}
        runner = Runner(workflow(file), jobs, actions, self._environ, before or {}, github)
        return runner.run(job, **contexts)

    def watch(self, job: str, before: Mapping[str, Mapping[str, str]] | None = None) -> Job:
        """Run the watch for the newest release, or for main."""
        return self.run("watch.yml", "check", before, matrix={"upstream": job})

    def _check_out(self, workspace: Path, _: dict[str, str]) -> None:
        git(workspace, "clone", "--quiet", str(self.pack), ".")

    def _set_up(self, _: Path, environ: dict[str, str]) -> None:
        environ["PATH"] = path_with(self.machine.bin, environ)


@pytest.fixture
def repository(machine: Machine, tmp_path: Path, pack: Path, upstream: Path) -> Repository:
    """The user's repository on GitHub, without issues."""
    return Repository(machine, tmp_path / "github", pack, upstream)


def change(upstream: Path, newest: str, old: str, new: str) -> None:
    """Have upstream release, and go on with, something else."""
    file = upstream / TARGET
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    commit(upstream)
    git(upstream, "tag", "--force", f"v{newest}")


JOBS = pytest.mark.parametrize("job", ["release", "main"])


@JOBS
def test_nothing_new(repository: Repository, newest: str, job: str) -> None:
    """The job is green, says what it looked at, and touches no issue but its label."""
    done = repository.watch(job)
    assert done.failed == "", done.log
    ref = "main" if job == "main" else f"v{newest}"
    assert done.summary.startswith(f"vLLM {ref}, checked as if it were 0.33.0.\n")
    assert repository.issues["calls"] == ["label create", "issue list"]


@JOBS
def test_drift_until_it_is_gone(
    repository: Repository, upstream: Path, newest: str, job: str
) -> None:
    """An issue is opened, brought up to date the next night, and closed when all is well."""
    change(upstream, newest, "def check_stop(", "def check_stop(*, soon=False, ")
    assert repository.watch(job).failed == ""
    first = repository.issues
    assert first["calls"] == ["label create", "issue list", "issue create"]
    assert first["title"] == f"Patches and upstream's {job}"
    assert "PK201" in first["body"]
    assert repository.watch(job).failed == ""
    assert repository.issues["calls"] == ["label create", "issue list", "issue edit"]
    change(upstream, newest, "def check_stop(*, soon=False, ", "def check_stop(")
    assert repository.watch(job).failed == ""
    last = repository.issues
    assert last["calls"] == ["label create", "issue list", "issue close"]
    assert last["open"] is None


@JOBS
def test_broken(repository: Repository, upstream: Path, newest: str, job: str) -> None:
    """What is gone is an issue that says so; the job itself has done its work."""
    change(upstream, newest, "def check_stop(", "def check_stop_anew(")
    done = repository.watch(job)
    assert done.failed == "", done.log
    issues = repository.issues
    assert "PK101" in issues["body"]
    assert issues["body"] == done.summary


@pytest.mark.parametrize("step", ["pip install vllm-patchkit .", "fetch the sources"])
def test_an_index_that_does_not_answer(repository: Repository, step: str) -> None:
    """The job is red where it asked, clones nothing, and leaves issues alone."""
    done = repository.watch("release", {step: UNREACHABLE})
    assert done.failed == step
    assert "Cloning" not in done.log
    assert "not found in upstream origin" not in done.log
    assert repository.issues["calls"] == []


def test_main_needs_no_index_for_vllm(repository: Repository) -> None:
    """Only the newest release is asked of the index."""
    done = repository.watch("main", {"fetch the sources": UNREACHABLE})
    assert done.failed == "", done.log


def test_a_check_that_gives_no_answer(repository: Repository, pack: Path) -> None:
    """A malformed pack is a red job, not a finding: no issue is opened or closed."""
    (pack / "my_pack" / "__init__.py").write_text(PACK.replace("changes=(", "changes=(1, "))
    commit(pack)
    done = repository.watch("main")
    assert done.failed == "check"
    assert "my-stop" in done.log
    assert repository.issues["calls"] == []
    assert done.summary == ""


def test_the_releases_that_matter(repository: Repository, pack: Path, newest: str) -> None:
    """One job chooses releases from the index; one for each checks it, red where a patch is."""
    chosen = repository.run("patches.yml", "choose")
    assert chosen.failed == "", chosen.log
    matrix = json.loads(chosen.outputs["matrix"])
    assert set(matrix) == {"vllm"}
    assert newest in matrix["vllm"]
    done = repository.run("patches.yml", "check", matrix={"vllm": newest})
    assert "::error" not in done.log
    body = pack / "my_pack" / "__init__.py"
    body.write_text(PACK.replace("utils:check_stop", "utils:check_stops"))
    commit(pack)
    done = repository.run("patches.yml", "check", matrix={"vllm": newest})
    assert done.failed.startswith("patchkit check")
    assert "::error file=my_pack/__init__.py,line=6,title=PK101 target missing" in done.log


def test_no_release_is_chosen_without_an_index(repository: Repository) -> None:
    """The choosing job is red, and gives nothing to the jobs that need it."""
    done = repository.run("patches.yml", "choose", {"matrix": UNREACHABLE})
    assert done.failed == "matrix"
    assert done.outputs == {}
