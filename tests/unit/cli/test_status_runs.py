"""`patchkit status --runs`, and which run `status` shows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from analysis.status.told import engine, journal, patch, role

from cli.journaled import answered
from patchkit.analysis.status.runs import new_run
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two runs: the older one of an engine, the newer one of a process whose patch has failed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("PATCHKIT_JOURNAL", raising=False)
    monkeypatch.chdir(tmp_path)
    old = new_run(["vllm", "serve", "MODEL"])
    new = new_run(["python", "hello world.py"])
    failed = journal(7, role("main"), patch("one", "failed", "ValueError: no"))
    for folder, journals in ((old, engine()), (new, [failed])):
        for files in journals:
            for name, data in files.items():
                (folder / name).write_bytes(data)
    return [new, old]


def test_the_run_is_named(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`status` says which run it shows, when that was started, and its command, as JSON too."""
    assert main(["status"]) == 1
    second = capsys.readouterr().out.splitlines()[1]
    assert second.startswith(f"run 1, {runs[0].name}, started ")
    assert second.endswith("s ago: python 'hello world.py'")
    run = answered(capsys, code=1)["run"]
    assert run["number"] == 1
    assert run["directory"] == str(runs[0])
    assert run["command"] == ["python", "hello world.py"]


@pytest.mark.parametrize("form", ["number", "name", "folder"])
def test_a_run_is_chosen(
    runs: list[Path], capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """A run is named by its number, by its name or by its folder."""
    source = {"number": "2", "name": runs[1].name, "folder": str(runs[1])}[form]
    data = answered(capsys, source)
    assert data["run"]["command"] == ["vllm", "serve", "MODEL"]
    assert len(data["processes"]) == 4


def test_a_folder_of_that_name_comes_first(
    runs: list[Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A directory of journals in this folder is read, though a run has its name as number."""
    (tmp_path / "2").mkdir()
    data = answered(capsys, "2", code=1)
    assert (data["run"], data["processes"]) == (None, [])


@pytest.mark.parametrize("options", [(), ("--watch",)])
def test_a_number_that_no_run_has_is_wrong_use(
    runs: list[Path], capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    """A number without a run is one line that names the list of runs, also with `--watch`."""
    assert main(["status", "9", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "9: found no such directory" in line
    assert "a run that 'patchkit status --runs' lists" in line


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """What `status --runs --format json` prints."""
    assert main(["status", "--runs", "--format", "json"]) == 0
    runs: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return runs


def test_runs_are_listed(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """`--runs` lists each run: number, time, command, processes, and the worst status."""
    new, old = listed(capsys)
    assert (new["number"], new["processes"], new["status"]) == (1, 1, "failed")
    assert (old["number"], old["processes"], old["status"]) == (2, 4, "applied")
    assert old["patches"] == {"applied": 2}
    assert old["command"] == ["vllm", "serve", "MODEL"]
    assert old["running"] is False
    assert main(["status", "--runs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "     python 'hello world.py'" in lines
    assert "1 failed, 1 armed in 1 process" in lines[1]
    assert max(map(len, lines)) <= 100


def test_there_may_be_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without any run the list is empty, which is in order."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert listed(capsys) == []
    assert main(["status", "--runs"]) == 0
    assert "no 'patchkit run'" in capsys.readouterr().out


def test_a_list_of_runs_is_of_no_patch(capsys: pytest.CaptureFixture[str]) -> None:
    """`--runs` with an option that shows one run is wrong use."""
    assert main(["status", "--runs", "--unused"]) == 2
    assert "--unused and --runs" in capsys.readouterr().err


def test_a_run_with_another_name_has_no_age(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that somebody has made among the runs does not say when it was started."""
    (runs[0].parent / "mine").mkdir(mode=0o700)
    assert main(["status", "--runs"]) == 0
    shown = capsys.readouterr().out
    assert "at a time that is not known" in shown
    assert "days ago" not in shown


def test_options_that_exclude_each_other_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only options that were given are named."""
    assert main(["status", "--unused", "--verify"]) == 2
    assert "found --unused and --verify, expected one" in capsys.readouterr().err
    assert main(["status", "--unused", "--format", "json"]) == 2
    assert "found --format json and --unused" in capsys.readouterr().err
