from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY

from patchkit.analysis.check.codes import CODES, explanations
from patchkit.cli import main

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` prints the four parts of each code's page, in whichever case it is typed."""
    assert main(["explain", code.lower()]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{code} {CODES[code].title}\n\n")
    assert "\nWhat it checks. " in out
    assert "\nWhy it matters. " in out
    assert "\nExample. " in out
    assert "\nWhat to do instead. " in out
    assert "](" not in out


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` alone lists each code on one line, with severity and title."""
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CODES)
    line = lines[list(CODES).index("PK304")]
    assert re.fullmatch(r"PK304 +note +no upper bound", line)


def test_the_beginning_of_codes_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """`explain pk2` lists the codes that begin so, as `--select PK2` selects them."""
    assert main(["explain", "pk2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = [code for code in CODES if code.startswith("PK2")]
    assert [line.split()[0] for line in lines] == expected


def test_json_has_the_page_as_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the code's page as Markdown, beside code and severity."""
    assert main(["explain", "PK101", "--format", "json"]) == 0
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["code"], finding["severity"]) == ("PK101", "error")
    expected = "Severity: error.\n\n**What it checks.** The target does not exist in the release."
    assert finding["text"].startswith(expected)


def test_an_unknown_code_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown code ends `explain` with 2, and the error names codes that are like it."""
    assert main(["explain", "PK10l"]) == 2
    assert (
        "no finding has the code 'PK10l'; did you mean PK10" in capsys.readouterr().err
    )


@pytest.mark.parametrize("color", ["", "1"])
def test_the_page_is_laid_out_for_the_terminal(
    color: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is wider than the terminal, and no mark of Markdown is left, in a pipe either."""
    monkeypatch.setenv("FORCE_COLOR", color)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", "PK101"]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "`" in line]


@pytest.mark.parametrize("code", CODES)
def test_an_example_is_as_the_command_prints_it(
    code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 80 columns, no line of what `check` prints is broken."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", code]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    (block,) = re.findall(r"^```\n(.*?)^```$", explanations()[code], re.M | re.DOTALL)
    assert [line for line in block.splitlines() if line.strip() not in lines] == []


@pytest.mark.processes
def test_the_page_is_in_the_package(
    python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """An installed package explains codes without docs beside it. Without its `findings.md` it
    exits with 2.
    """
    without = shutil.ignore_patterns("__pycache__")  # others may write some meanwhile
    shutil.copytree(REPOSITORY / "patchkit", tmp_path / "patchkit", ignore=without)
    words = ("-m", "patchkit", "explain", "PK101")
    done = python(*words, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (tmp_path / "patchkit/analysis/check/findings.md").unlink()
    assert python(*words, PYTHONPATH=str(tmp_path)).returncode == 2
