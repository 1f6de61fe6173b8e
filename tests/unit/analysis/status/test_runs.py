"""The runs whose journals are kept: their folders, numbers, names and commands."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from patchkit.analysis.status.runs import (
    all_runs,
    discard_run,
    find_run,
    new_run,
    run_in,
)
from patchkit.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all runs, which is empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = tmp_path / f"patchkit-{os.getuid()}"
    place.mkdir(mode=0o700)
    return place


def made(home: Path, *names: str) -> list[Path]:
    """Folders of runs, of which nobody has noted the command."""
    folders = [home / name for name in names]
    for folder in folders:
        folder.mkdir()
    return folders


def test_where_no_folder_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container whose files are read-only, there are no runs, and a new one is an error."""

    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.gettempdir", refuse)
    assert all_runs() == []
    with pytest.raises(SettingsError, match="set PATCHKIT_JOURNAL to a folder"):
        new_run(["python"])


def test_a_run_says_when_it_began_and_what_was_run(home: Path) -> None:
    """A run that was made has its number, its command and the time, and is found by its folder."""
    folder = new_run(["python", "a b.py"])
    (run,) = all_runs()
    assert run.folder == folder
    assert folder.parent == home
    assert (run.number, list(run.command)) == (1, ["python", "a b.py"])
    assert folder.name.startswith(run.name)
    assert run.started == pytest.approx(folder.stat().st_mtime, abs=5)
    assert run_in(folder) == run
    assert run_in(home) is None


def test_the_newest_run_has_number_one(home: Path) -> None:
    """Runs are numbered from the newest on, and found by number, by name and by its beginning."""
    old, middle, new = made(
        home, "20260101-000000-1-a", "20260102-000000-1-b", "20260102-000000-2-c"
    )
    assert [run.folder for run in all_runs()] == [new, middle, old]
    assert [run.name for run in all_runs()] == [
        new.name,
        middle.name,
        "20260101-000000",
    ]
    for text, folder in {
        "1": new,
        "3": old,
        "20260101": old,
        middle.name: middle,
    }.items():
        found = find_run(text)
        assert found is not None
        assert found.folder == folder


@pytest.mark.parametrize("text", ["0", "2", "4", "20260102", "2025", "x", "-1", ""])
def test_what_names_no_run_or_several_finds_none(home: Path, text: str) -> None:
    """A number that there is not, or a beginning of several names, finds no run."""
    names = ("20260102-000000-1-b", "20260102-000000-2-c")
    made(home, "20260101-000000-1-a", *(names if text != "2" else ()))
    assert find_run(text) is None


@pytest.mark.parametrize(
    "content", ["", "[]", "null", '{"command": 1, "started": "x"}', '{"started": true}']
)
def test_a_run_without_facts_has_the_time_of_its_name(home: Path, content: str) -> None:
    """A file that is torn or somebody else's says nothing; the name of the folder has the time."""
    (folder,) = made(home, "20260101-120000-1-a")
    (folder / "run.json").write_text(content)
    (run,) = all_runs()
    assert list(run.command) == []
    assert run.started > 1_767_000_000


def test_a_name_that_is_no_time_is_listed(home: Path) -> None:
    """A folder with another name is a run of which nobody knows the time."""
    made(home, "mine")
    (run,) = all_runs()
    assert (run.name, run.started) == ("mine", 0)


def test_a_link_says_nothing(home: Path, tmp_path: Path) -> None:
    """The facts of a run are read from a plain file alone."""
    (folder,) = made(home, "20260101-120000-1-a")
    (tmp_path / "other").write_text(json.dumps({"command": ["other"], "started": 1.0}))
    (folder / "run.json").symlink_to(tmp_path / "other")
    (run,) = all_runs()
    assert list(run.command) == []


def test_a_run_without_a_journal_can_be_discarded(home: Path) -> None:
    """A run in which a process wrote its journal stays, another one goes."""
    empty = new_run(["a"])
    full = new_run(["b"])
    (full / f"{os.uname().nodename}-{os.getpid()}-1.jsonl").touch()
    discard_run(empty)
    discard_run(full)
    (run,) = all_runs()
    assert run.folder == full
    assert run.is_running
    assert home.is_dir()


def test_a_folder_of_others_holds_no_runs(home: Path) -> None:
    """A folder that others can write to is not read."""
    made(home, "20260101-120000-1-a")
    home.chmod(0o777)
    assert all_runs() == []
