"""The workflows of docs, run: bash, pip, git, patchkit and its action are real, and vLLM's source.

What is simulated: GitHub's runner (`workflow_runner`), `gh` (`gh_stand_in`), GitHub's own actions,
and the repository of vLLM, which git's own `insteadOf` puts in a folder; its files are those of the
release that is installed here.

Takes about 2 min.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pack_repository import (
    PACK,
    Repository,
    change,
    machine,
    newest,
    pack,
    released,
    repository,
    upstream,
)
from workflow_machine import UNREACHABLE, commit

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["machine", "newest", "pack", "released", "repository", "upstream"]

JOBS = pytest.mark.parametrize(
    "job", ["release", pytest.param("main", marks=pytest.mark.every_cell)]
)


@JOBS
def test_nothing_new(repository: Repository, newest: str, job: str) -> None:
    """The job is green, with a summary and a page, and touches no issue but its label."""
    done = repository.watch(job)
    assert done.failed == "", done.log
    assert done.summary.startswith("### patchkit check: ")
    assert repository.uploads == [f"upstream-{job}"]
    assert repository.issues["calls"] == ["label create", "issue list"]


def test_drift_until_it_is_gone(
    repository: Repository, upstream: Path, newest: str
) -> None:
    """An issue is opened, brought up to date the next night, and closed when all is well."""
    change(upstream, newest, "def check_stop(", "def check_stop(*, soon=False, ")
    assert repository.watch("main").failed == ""
    first = repository.issues
    assert first["calls"] == ["label create", "issue list", "issue create"]
    assert first["title"] == "Patches and upstream's main"
    assert "PK201" in first["body"]
    assert repository.watch("main").failed == ""
    assert repository.issues["calls"] == ["label create", "issue list", "issue edit"]
    change(upstream, newest, "def check_stop(*, soon=False, ", "def check_stop(")
    assert repository.watch("main").failed == ""
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
    ref = "main" if job == "main" else f"v{newest}"
    first, _, clone, again, *_ = issues["body"].splitlines()
    assert first == f"vLLM {ref}, checked as if it were 0.33.0. To see it elsewhere:"
    assert clone.startswith(f"git clone --depth 1 --branch {ref} https://")
    assert again == "VLLM_VERSION=0.33.0 patchkit check --path vllm"
    assert issues["body"].endswith(done.summary)


@pytest.mark.parametrize("step", ["install", "fetch the sources"])
def test_an_index_that_does_not_answer(repository: Repository, step: str) -> None:
    """The job is red where it asked, and leaves issues alone."""
    # A fresh machine builds in isolation, and asks the index for what that takes.
    done = repository.watch(
        "release", {step: {**UNREACHABLE, "PIP_NO_BUILD_ISOLATION": "1"}}
    )
    assert done.failed == step
    assert "not found in upstream origin" not in done.log
    assert repository.issues["calls"] == []


def test_main_needs_no_index_for_vllm(repository: Repository) -> None:
    """Only the newest release is asked of the index."""
    done = repository.watch("main", {"fetch the sources": UNREACHABLE})
    assert done.failed == "", done.log


def test_a_check_that_gives_no_answer(repository: Repository, pack: Path) -> None:
    """A malformed pack is a red job, not a finding: no issue is opened or closed."""
    (pack / "my_pack" / "__init__.py").write_text(
        PACK.replace("changes=(", "changes=(1, ")
    )
    commit(pack)
    done = repository.watch("main")
    assert done.failed == "check"
    assert "my-stop" in done.log
    assert repository.issues["calls"] == []
    assert done.summary == ""


def test_every_change(repository: Repository, pack: Path) -> None:
    """What holds is green; a finding is red, on the row in the pull request, and on the page."""
    done = repository.run("patches.yml", "check")
    assert done.failed == "", done.log
    body = pack / "my_pack" / "__init__.py"
    body.write_text(PACK.replace("utils:check_stop", "utils:check_stops"))
    commit(pack)
    done = repository.run("patches.yml", "check")
    assert done.failed == "verdict"
    assert (
        "::error file=my_pack/__init__.py,line=6,title=PK101 target missing" in done.log
    )
    assert "PK101" in done.summary
    assert repository.uploads == ["patchkit-check", "patchkit-check"]


def test_the_releases_that_matter(repository: Repository) -> None:
    """The releases that get an engine are chosen from the index."""
    chosen = repository.run("engines.yml", "choose")
    assert chosen.failed == "", chosen.log
    (releases,) = json.loads(chosen.outputs["matrix"]).values()
    assert "0.28.0" in releases


def test_no_release_is_chosen_without_an_index(repository: Repository) -> None:
    """The choosing job is red, and gives nothing to the jobs that need it."""
    done = repository.run("engines.yml", "choose", {"matrix": UNREACHABLE})
    assert done.failed == "matrix"
    assert done.outputs == {}
