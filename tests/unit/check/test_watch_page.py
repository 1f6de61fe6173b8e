from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "watch.md"
CONTEXTS = {
    ("env",): {"github", "vars"},
    ("concurrency",): {"github", "vars"},
    ("jobs", "*", "strategy"): {"github", "needs", "vars"},
    ("jobs", "*", "env"): {"github", "needs", "strategy", "matrix", "vars"},
    ("jobs", "*", "outputs"): {"github", "needs", "strategy", "matrix", "runner", "env", "steps"},
    ("jobs", "*", "steps", "*", "env"): {"github", "needs", "matrix", "runner", "env", "steps"},
}
"""Where expressions may stand, and what they may name there, as GitHub documents it."""
KEYS = {
    (): {"name", "on", "permissions", "env", "defaults", "concurrency", "jobs"},
    ("jobs", "*"): {"needs", "runs-on", "timeout-minutes", "strategy", "env", "outputs", "steps"},
    ("jobs", "*", "steps", "*"): {"name", "id", "uses", "with", "run", "env"},
}
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")
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


def leaves(value: Any, *path: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text of a workflow with the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, *path, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, *path, "*")
    else:
        yield path, str(value)


def matches(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether keys lead to or below a place."""
    pairs = zip(path, pattern, strict=False)
    return len(path) >= len(pattern) and all(two in (one, "*") for one, two in pairs)


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


@pytest.mark.parametrize("name", FILES)
def test_expressions_stand_where_github_evaluates_them(name: str) -> None:
    """Each is in a place that takes expressions, and names a context that is there."""
    seen = 0
    for path, text in leaves(workflow(name)):
        for found in EXPRESSION.finditer(text):
            contexts = [known for place, known in CONTEXTS.items() if matches(path, place)]
            used = set(re.findall(r"(?<![.\w])(\w+)\.", found[1]))
            assert used
            assert used <= set().union(*contexts), path
            seen += 1
    assert seen


@pytest.mark.parametrize("name", FILES)
def test_a_step_reads_what_an_earlier_one_has_written(name: str) -> None:
    """`steps.ID.outputs.NAME` is an earlier step of the job that writes NAME, on one line."""
    for job in workflow(name)["jobs"].values():
        written: set[tuple[str, str]] = set()
        for step in job["steps"]:
            for read in re.findall(r"steps\.(\w+)\.outputs\.(\w+)", str(step.get("env", ""))):
                assert read in written
            lines = re.findall(r"echo \"(\w+)=\$\w+\" >> \"\$GITHUB_OUTPUT\"", step.get("run", ""))
            assert len(lines) == step.get("run", "").count("GITHUB_OUTPUT")
            written |= {(step.get("id", ""), one) for one in lines}
        for read in re.findall(r"steps\.(\w+)\.outputs\.(\w+)", str(job.get("outputs", ""))):
            assert read in written


@pytest.mark.parametrize("name", FILES)
def test_keys_are_known(name: str) -> None:
    """No workflow, job or step has a key that GitHub would refuse; a step runs or uses."""
    data = workflow(name)
    assert set(data) <= KEYS[()]
    for job in data["jobs"].values():
        assert set(job) <= KEYS["jobs", "*"]
        for step in job["steps"]:
            assert set(step) <= KEYS["jobs", "*", "steps", "*"]
            assert ("run" in step) is not ("uses" in step)


@pytest.mark.parametrize("name", FILES)
def test_scripts_end_at_the_first_failure(name: str) -> None:
    """Bash is named, as only then a failure within a pipe ends the step."""
    assert workflow(name)["defaults"] == {"run": {"shell": "bash"}}


def test_only_the_step_that_writes_issues_has_the_token() -> None:
    """What is installed and checked runs without it, and no checkout leaves it behind."""
    for name in FILES:
        places = [path for path, text in leaves(workflow(name)) if "github.token" in text]
        assert places in ([], [("jobs", "check", "steps", "*", "env", "GH_TOKEN")])
        for job in workflow(name)["jobs"].values():
            for step in job["steps"]:
                assert ("gh issue" in step.get("run", "")) == ("GH_TOKEN" in step.get("env", {}))
                if "checkout" in step.get("uses", ""):
                    assert step["with"] == {"persist-credentials": False}
