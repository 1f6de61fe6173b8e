from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from patchkit.cli import main

PAGE = Path(__file__).parents[3] / "docs" / "watch.md"
BLOCKS = re.compile(r"<!-- (\S+) -->\n```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = {found[1]: found[2] for found in BLOCKS.finditer(PAGE.read_text("utf-8"))}


def workflow(name: str) -> dict[Any, Any]:
    """A workflow of the page; YAML 1.1 reads the key `on` as True, GitHub does not."""
    data: dict[Any, Any] = yaml.safe_load(FILES[name])
    data["on"] = data.pop(True)
    return data


def scripts(name: str) -> list[str]:
    """What the steps of a workflow run."""
    jobs = workflow(name)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_the_page_has_both_workflows() -> None:
    """One is started by the clock and may write issues only, the other reads only."""
    watch, patches = (workflow(name) for name in FILES)
    assert watch["on"]["schedule"] == [{"cron": "17 4 * * *"}]
    assert watch["permissions"] == {"contents": "read", "issues": "write"}
    assert "pull_request" in patches["on"]
    assert patches["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", FILES)
def test_shell_accepts_every_script(name: str) -> None:
    """Bash parses what each step runs, and no step puts an expression into its script."""
    for script in scripts(name):
        subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=20)
        assert "${{" not in script


@pytest.mark.parametrize("name", FILES)
def test_no_secret_is_needed(name: str) -> None:
    """No workflow names a secret."""
    assert "secrets." not in FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_every_option_exists(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option that a script gives to patchkit is one of that command's."""
    calls = [
        call for text in scripts(name) for call in re.findall(r"patchkit (check|matrix) (.*)", text)
    ]
    assert calls
    for command, rest in calls:
        main([command, "--help"])
        usage = capsys.readouterr().out
        for option in re.findall(r"(?<!\w)--[a-z]+", rest):
            assert option in usage


def test_what_one_job_writes_the_next_one_reads() -> None:
    """The output of the choosing job is what feeds `strategy.matrix`, by the key of the project."""
    jobs = workflow(".github/workflows/patches.yml")["jobs"]
    assert jobs["check"]["strategy"]["matrix"] == "${{ fromJSON(needs.choose.outputs.matrix) }}"
    assert jobs["check"]["needs"] == "choose"
    assert jobs["choose"]["outputs"] == {"matrix": "${{ steps.matrix.outputs.matrix }}"}
    assert jobs["check"]["steps"][-1]["env"] == {"RELEASE": "${{ matrix.vllm }}"}
