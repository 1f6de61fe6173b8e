"""The commands of the Makefile: what the two parts of the whole check are, and who names them."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter

import pytest
from support.packages import REPOSITORY

PREPARATIONS = ("lab/environments.py", "-m compileall")
"""Parts of commands that may run twice: the second time there is nothing to do."""


def commands(words: str) -> list[str]:
    """List what a command line of make would run, without what only prepares."""
    # A make that runs the tests would have this one take its options, and tell of folders.
    environ = {
        name: text for name, text in os.environ.items() if not name.startswith("MAKE")
    }
    done = subprocess.run(
        [*words.split(), "--dry-run"],
        cwd=REPOSITORY,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.replace("\\\n", " ").splitlines()
    return [line for line in lines if not any(part in line for part in PREPARATIONS)]


@pytest.mark.processes
def test_the_whole_check_is_its_two_parts_and_nothing_twice() -> None:
    """`.ci/run` runs the commands of `make test-all`, those of `make test` first."""
    script = (REPOSITORY / ".ci" / "run").read_text("utf-8")
    lines = re.findall(r"^(?:exec )?(make .*)", script, re.MULTILINE)
    assert [line.split()[1] for line in lines] == ["test", "test-rest"]
    run_by_ci = [command for line in lines for command in commands(line)]
    assert Counter(run_by_ci).most_common(1)[0][1] == 1
    assert sorted(run_by_ci) == sorted(commands("make test-all"))
    assert run_by_ci[: len(commands("make test"))] == commands("make test")


@pytest.mark.processes
def test_pytest_has_the_last_word() -> None:
    """Whoever runs a check reads its summary at the end."""
    for target in ("test", "test-rest", "test-all"):
        assert "-m pytest" in commands(f"make {target}")[-1]


@pytest.mark.processes
def test_engines_of_the_second_part_are_all_but_those_of_the_first() -> None:
    """Each file of end-to-end tests is run by one of them."""
    (smoke,) = commands("make e2e-smoke")
    (others,) = commands("make e2e-rest")
    smoke_files = re.findall(r"(?<!=)tests/e2e/\S+", smoke)
    assert len(smoke_files) == 2
    assert all((REPOSITORY / name).is_file() for name in smoke_files)
    assert re.findall(r"--ignore=(\S+)", others) == smoke_files
    (every,) = commands("make e2e")
    assert re.sub(r" --ignore=\S+", "", others) == every


def test_targets_that_pages_name_exist() -> None:
    """`make NAME` of README, CONTRIBUTING, the docs and the workflows is a target."""
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    pages = [
        REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml")
    ]
    pages += [
        *(REPOSITORY / "docs").glob("*.md"),
        *(REPOSITORY / "tests" / "e2e").glob("*.py"),
    ]
    for page in pages:
        text = page.read_text("utf-8")
        named = re.findall(r"(?:`|^\$ )make ([a-z0-9-]+)", text, re.MULTILINE)
        assert set(named) <= targets, page
