"""What a linter cannot know of the workflows in docs, of action.yml, and of the page about them."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from support.packages import REPOSITORY

from ci.pages import (
    ACTION,
    ACTION_TEXT,
    CI_PAGE,
    OURS,
    WORKFLOWS,
    all_steps,
    scripts,
    workflow,
)
from patchkit import __version__
from patchkit.analysis.check.findings import Report, State
from patchkit.cli import main
from patchkit.cli.report.check_github import as_markdown

if TYPE_CHECKING:
    from pathlib import Path

NAMES = pytest.mark.parametrize("name", WORKFLOWS)
HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (REPOSITORY / ".pre-commit-hooks.yaml").read_text()
)


def test_the_pages_have_the_three_workflows() -> None:
    """They have one for each change, one with engines, and one that the clock starts."""
    assert set(WORKFLOWS) == {"patches.yml", "engines.yml", "watch.yml"}
    assert "pull_request" in workflow("patches.yml")["on"]
    assert workflow("watch.yml")["on"]["schedule"] == [{"cron": "17 4 * * *"}]


@NAMES
def test_no_secret_is_needed(name: str) -> None:
    """No workflow names a secret, and only the one that writes issues may write anything."""
    assert "secrets." not in WORKFLOWS[name]
    writes = re.findall(r"(\w+): write", WORKFLOWS[name])
    expected = ["issues"] if name == "watch.yml" else []
    assert writes == expected


def test_only_the_step_that_writes_issues_has_the_token() -> None:
    """What is installed and checked runs without it."""
    holders = [step["run"] for step in all_steps() if "github.token" in str(step)]
    assert len(holders) == 1
    assert "gh issue create" in holders[0]
    assert "github.token" not in ACTION_TEXT


def test_every_option_exists(capsys: pytest.CaptureFixture[str]) -> None:
    """Each option that a script gives to patchkit is one of that command's."""
    scripted = "\n".join(scripts(all_steps()))
    calls = re.findall(r"patchkit (check|matrix) (.*)", scripted)
    calls += [("check", option) for option in re.findall(r'"(--[a-z]+)=\$', scripted)]
    calls += [(hook["entry"].split()[1], " ".join(hook["args"])) for hook in HOOKS]
    assert len(calls) > 8
    for command, arguments in calls:
        main([command, "--help"])
        usage = capsys.readouterr().out
        for option in re.findall(r"(?<!\w)--[a-z]+", arguments):
            assert option in usage


def test_scripts_end_at_the_first_failure() -> None:
    """Workflows name `bash` as their shell; the action's scripts begin with `set -euo pipefail`."""
    for name in WORKFLOWS:
        steps = [
            step for job in workflow(name)["jobs"].values() for step in job["steps"]
        ]
        if scripts(steps):
            assert workflow(name)["defaults"] == {"run": {"shell": "bash"}}
    for script in scripts(ACTION["runs"]["steps"]):
        assert script.startswith("set -euo pipefail\n")


def test_no_script_holds_an_expression() -> None:
    """What a user gives reaches a script as a variable, never as its text."""
    assert not [script for script in scripts(all_steps()) if "${{" in script]


def test_what_the_action_writes_is_what_it_declares() -> None:
    """Its outputs are those of the step `check`, which writes them all, under the same names."""
    (check,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "check")
    written = set(re.findall(r'echo "(\w+)=', check["run"]))
    counts = re.search(r"for name in \((.*)\)", check["run"])
    assert counts
    written |= set(re.findall(r'"(\w+)"', counts[1]))
    expected = {name: f"${{{{ steps.check.outputs.{name} }}}}" for name in written}
    declared = {name: output["value"] for name, output in ACTION["outputs"].items()}
    assert declared == expected


def test_every_input_is_used_and_described() -> None:
    """Each has a text and a default, which the page names, and some step takes it."""
    rows = re.findall(r"^\| `(.*?)` \| (?:`(.*?)`)? ?\| ", CI_PAGE, re.MULTILINE)
    expected = [(name, field["default"]) for name, field in ACTION["inputs"].items()]
    assert rows == expected
    for name, field in ACTION["inputs"].items():
        assert field["description"]
        assert re.search(rf"inputs\.{name}\b(?!-)", str(ACTION["runs"]))
    for name in ACTION["outputs"]:
        assert f"`{name}`" in CI_PAGE


def test_the_pages_use_this_version() -> None:
    """A user who copies gets the action that the page describes."""
    template = REPOSITORY / "examples" / "pack-template"
    hooks = (template / ".pre-commit-config.yaml").read_text("utf-8")
    checks = (template / ".github" / "workflows" / "patches.yml").read_text("utf-8")
    texts = (*WORKFLOWS.values(), checks)
    named = [name for text in texts for name in OURS.findall(text)]
    named += re.findall(r"rev: v(\S+)", CI_PAGE + hooks)
    assert len(named) == 8
    assert set(named) == {__version__}


def test_the_page_names_every_hook() -> None:
    """Its pre-commit configuration is what this repository offers."""
    assert re.findall(r"- id: (\S+)", CI_PAGE) == [
        "matrix",
        "patchkit-check",
        "patchkit-lock",
    ]
    assert [hook["id"] for hook in HOOKS] == ["patchkit-check", "patchkit-lock"]


@pytest.mark.processes
def test_the_watch_closes_an_issue_with_what_was_checked(tmp_path: Path) -> None:
    """The comment names a row that is out of the range of all releases."""
    releases = ["vllm 0.33.0"]
    grid = {
        "in": dict.fromkeys(releases, State.OK),
        "out": {releases[0]: State.OUT_OF_RANGE},
    }
    (tmp_path / "found.md").write_text(as_markdown(Report(releases, [], grid)))
    gh = tmp_path / "gh"
    gh.write_text(
        '#!/bin/sh\ncase "$2" in list) echo 7 ;; close) printf "%s" "$5" > closed ;; esac\n'
    )
    gh.chmod(0o755)
    (script,) = [text for text in scripts(all_steps()) if "gh issue close" in text]
    environ = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
    }
    environ |= {"REF": "main", "VLLM_VERSION": "0.33.0", "LABEL": "l", "STATUS": "0"}
    environ |= {"FOUND": str(tmp_path / "found.md"), "UPSTREAM": "main"}
    subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environ, check=True, timeout=60
    )
    assert (tmp_path / "closed").read_text() == (
        "No errors or warnings in vLLM main, checked as if it were 0.33.0:"
        " 2 patches, 1 release, no release in range for out"
    )


def test_every_install_of_patchkit_is_pinned() -> None:
    """It is that of the checkout, on no index; packs are installed without dependencies."""
    installs = re.findall(r"pip install (.*)", WORKFLOWS["engines.yml"])
    ours = [line for line in installs if "patchkit" in line]
    assert ours == ["./.patchkit", "./.patchkit pytest"]
    assert all(line.startswith("--no-deps ") for line in installs if "-e ." in line)
