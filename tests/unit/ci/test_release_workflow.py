"""The workflow that publishes a tag, as far as it can be run without publishing one."""

from __future__ import annotations

import os
import subprocess

import pytest
import yaml
from support.packages import REPOSITORY

from patchkit import __version__

WORKFLOW = REPOSITORY / ".github" / "workflows" / "release.yml"


def run_first_script(tag: str) -> int:
    """Run the first script of the workflow for a tag, and return its exit code."""
    jobs = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"]
    script = next(step["run"] for step in jobs["build"]["steps"] if "run" in step)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=REPOSITORY,
        env={**os.environ, "GITHUB_REF_NAME": tag},
        timeout=30,
        check=False,
    )
    return done.returncode


@pytest.mark.processes
def test_a_tag_is_published_if_it_is_the_version_and_its_changes_are_dated() -> None:
    """The version of this tree has a dated section in the changelog; another one stops the job."""
    assert run_first_script(f"v{__version__}") == 0
    assert run_first_script(f"v{__version__}.1") != 0
    assert run_first_script("v" + __version__.replace(".", "x", 1)) != 0
