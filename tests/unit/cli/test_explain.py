from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from support.packages import REPOSITORY

from patchkit.analysis.check.codes import CODES
from patchkit.cli import main

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With its four parts; in the case that somebody happens to type."""
    assert main(["explain", code.lower()]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{code} {CODES[code].title}\n\n")
    assert "\nWhat it checks. " in out
    assert "\nWhy it matters. " in out
    assert "\nExample. " in out
    assert "\nWhat to do instead. " in out
    assert "](" not in out


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """One line each, with severity and title."""
    assert main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CODES)
    assert re.fullmatch(
        r"PK304 +note +no upper bound", lines[list(CODES).index("PK304")]
    )


def test_explain_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The section as Markdown, beside code, title and severity."""
    assert main(["explain", "PK101", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["severity"]) == ("PK101", "error")
    expected = (
        "Severity: error.\n\n**What it checks.** The target is not in that release."
    )
    assert found["text"].startswith(expected)


def test_an_unknown_code_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """It says which are like it."""
    assert main(["explain", "PK10l"]) == 2
    assert (
        "no finding has the code 'PK10l'; did you mean PK10" in capsys.readouterr().err
    )


@pytest.mark.parametrize("color", ["", "1"])
def test_it_is_laid_out(
    color: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is wider than the terminal, and no mark of Markdown is left, in a pipe either."""
    monkeypatch.setenv("FORCE_COLOR", color)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["explain", "PK101"]) == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "`" in line]


@pytest.mark.processes
def test_the_page_is_in_the_package(
    python: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """As it is installed, with no docs beside it; where it is missing that is one line."""
    without = shutil.ignore_patterns("__pycache__")  # others may write some meanwhile
    shutil.copytree(REPOSITORY / "patchkit", tmp_path / "patchkit", ignore=without)
    words = ("-m", "patchkit", "explain", "PK101")
    done = python(*words, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (tmp_path / "patchkit/analysis/check/findings.md").unlink()
    assert python(*words, PYTHONPATH=str(tmp_path)).returncode == 2
