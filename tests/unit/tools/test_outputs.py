"""`tools/outputs`: reading scenarios, replacing what changes from run to run, comparing runs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from outputs.comparing import differences
from outputs.normalising import normalised
from outputs.scenarios import ScenarioError, parse_scenario, read_scenarios
from outputs.worlds import write_world
from support.packages import REPOSITORY

from patchkit.analysis.check.codes import CODES
from patchkit.cli.app import COMMANDS

if TYPE_CHECKING:
    from pathlib import Path

TOOL = REPOSITORY / "tools" / "outputs"
SCENARIO = """\
# What it is for.
use other
set PATCHKIT_PATCHES=pack
setup: lock
80 json: check "a b"
unset PATCHKIT_PATCHES
160: adopt - < some.diff
-- some.diff --
+++ b
-- pack/__init__.py --
PATCHES = ()
"""
TRACEBACK = """\
Traceback:
  File "/home/me/clone/patchkit/a.py", line 3, in f
    g()
    ^^^
  File "/home/me/clone/patchkit/b.py", line 4, in g
    raise MiscountError
patchkit.core.text.MiscountError: no
"""
OTHER = "80: list\n-- pack/__init__.py --\n-- up/mod.py --\nx = 1\n"


def test_a_host_name_within_other_words_stays() -> None:
    """A short one may occur in a name that is made at random."""
    assert normalised("vm: run 4vmtyfrel", {"vm": "HOST"}) == "HOST: run 4vmtyfrel"


def test_a_scenario_has_commands_and_files() -> None:
    """Each variant is a command with the variables set so far; `use` adds another's files."""
    scenario = parse_scenario("it", {"it": SCENARIO, "other": OTHER})
    lines = [
        (command.title, command.columns, command.variables)
        for command in scenario.commands
    ]
    pack = (("PATCHKIT_PATCHES", "pack"),)
    assert lines == [
        ("patchkit lock", 80, pack),
        ("patchkit check 'a b'", 80, pack),
        ("patchkit check 'a b' --format json", 80, pack),
        ("patchkit adopt - < some.diff", 160, ()),
    ]
    assert [command.is_setup for command in scenario.commands] == [
        True,
        False,
        False,
        False,
    ]
    assert scenario.files == {
        "pack/__init__.py": "PATCHES = ()\n",
        "up/mod.py": "x = 1\n",
        "some.diff": "+++ b\n",
    }


@pytest.mark.parametrize("line", ["frobnicate", "use nobody", "check --releases up"])
def test_a_line_that_is_no_directive_is_an_error(line: str) -> None:
    """It names the scenario and the line."""
    with pytest.raises(ScenarioError, match="it: line 1"):
        parse_scenario("it", {"it": f"{line}\n"})


def test_commands_that_look_alike_have_results_of_their_own() -> None:
    """Commands that differ in their environment only are numbered from the second on."""
    text = "80: list\nset VLLM_VERSION=1\n80: list\n"
    assert list(parse_scenario("it", {"it": text}).named_commands()) == [
        "list.80",
        "list.80.2",
    ]


def test_every_command_and_every_finding_has_a_scenario() -> None:
    """A command or a code that is added without one would change unnoticed."""
    scenarios = read_scenarios()
    shown = {
        command.arguments[0] for scenario in scenarios for command in scenario.commands
    }
    assert set(COMMANDS) <= shown
    names = {scenario.name for scenario in scenarios}
    assert {f"findings/{code}" for code in CODES} <= names


@pytest.mark.processes
def test_wheels_and_repositories_are_made_of_files(tmp_path: Path) -> None:
    """Both are the same bytes each time: hashes and identifiers of commits stay."""
    files = {
        "wheels/up-1.0-py3-none-any.whl/up/mod.py": "x = 1\n",
        "up.git/1/old.py": "",
        "up.git/2/new.py": "",
    }
    heads = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        write_world(folder, files)
        words = ["git", "-C", str(folder / "up.git"), "rev-parse", "HEAD"]
        heads.append(subprocess.run(words, capture_output=True, check=True).stdout)
        assert [file.name for file in (folder / "up.git").glob("*.py")] == ["new.py"]
    wheel, second_wheel = tmp_path.glob("*/wheels/*.whl")
    assert wheel.read_bytes() == second_wheel.read_bytes()
    assert heads[0] == heads[1]
    with zipfile.ZipFile(wheel) as archive:
        assert "up/__init__.py" in archive.namelist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("patchkit[4711] warning: no", "patchkit[PID] warning: no"),
        ('{"pid": 4711, "count": 3}', '{"pid": PID, "count": 3}'),
        ('{"seconds": 0.25}', '{"seconds": SECONDS}'),
        ('{"age": 100829.9}', '{"age": SECONDS}'),
        ("made 2026-11-25 14:11 UTC", "made MOMENT"),
        ("3    1     bad   12.5     two", "3    1     bad   SECONDS  two"),
        (TRACEBACK, "Traceback:\n  frames of patchkit\npatchkit.MiscountError: no\n"),
        ("in /home/me/clone/patchkit", "in CHECKOUT/patchkit"),
        ("in /home/me/clone-2/patchkit", "in OTHER/patchkit"),
        ("vllm 0.11.0 at line 12, 100% alike", "vllm 0.11.0 at line 12, 100% alike"),
    ],
)
def test_only_what_changes_from_run_to_run_is_replaced(
    text: str, expected: str
) -> None:
    """Numbers, versions and lines that patchkit says stay as they are."""
    names = {"/home/me/clone": "CHECKOUT", "/home/me/clone-2": "OTHER"}
    assert normalised(text, names) == expected


def test_results_that_differ_are_shown_as_diffs(tmp_path: Path) -> None:
    """So are results that only one of the runs has; equal ones are passed over."""
    runs = {
        "old": {"equal": "1\n", "gone": "2\n", "changed": "4\n"},
        "new": {"equal": "1\n", "made": "3\n", "changed": "5\n"},
    }
    for run, results in runs.items():
        (tmp_path / run).mkdir()
        for name, text in results.items():
            (tmp_path / run / f"{name}.txt").write_text(text)
    changed, gone, made = differences(tmp_path / "old", tmp_path / "new")
    assert changed.splitlines()[-2:] == ["-4", "+5"]
    assert "+++ /dev/null" in gone
    assert gone.splitlines()[-1] == "-2"
    assert "--- /dev/null" in made
    assert made.splitlines()[-1] == "+3"


@pytest.mark.processes
def test_two_runs_of_one_checkout_are_the_same(tmp_path: Path) -> None:
    """Comparing them ends with exit code 0, and with 1 once a result is changed."""

    def tool(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, str(TOOL), *words]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        return subprocess.run(
            line,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    for name in ("one", "two"):
        done = tool("--python", sys.executable, "--into", name, "--only", "bootstrap")
        assert done.returncode == 0, done.stderr
    done = tool("--compare", "one", "two")
    assert (done.returncode, done.stdout) == (0, "")
    result = next((tmp_path / "two").rglob("*.txt"))
    result.write_text("something else\n")
    done = tool("--compare", "one", "two")
    assert done.returncode == 1
    assert "+something else" in done.stdout
