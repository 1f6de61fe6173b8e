"""The journal writes to its own file alone, whoever owns the folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.runtime.process import journal as journal_module
from patchkit.runtime.process.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


def _replace_by_link(file: Path, victim: Path) -> None:
    file.symlink_to(victim)


def _replace_by_hard_link(file: Path, victim: Path) -> None:
    file.hardlink_to(victim)


def _replace_by_fifo(file: Path, _: Path) -> None:
    os.mkfifo(file)


@pytest.mark.parametrize(
    "replace", [_replace_by_link, _replace_by_hard_link, _replace_by_fifo]
)
def test_only_its_own_file_is_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], replace: Any
) -> None:
    """A journal neither writes nor waits where somebody has replaced its file."""
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    journal = Journal(str(tmp_path / "journal"))
    journal.write("before")
    (file,) = (tmp_path / "journal").iterdir()
    file.unlink()
    replace(file, victim)
    journal.write("after")
    assert victim.read_text() == "mine\n"
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_a_link_that_was_there_first_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link that already has the name of the journal's file is not followed."""
    monkeypatch.setattr(journal_module.time, "time_ns", lambda: 17)
    name = f"{os.uname().nodename}-{os.getpid()}-17.jsonl"
    (tmp_path / name).symlink_to(tmp_path / "victim")
    Journal(str(tmp_path)).write("event")
    assert not (tmp_path / "victim").exists()


def test_a_folder_that_is_a_link_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal follows the user's own link, and reports one of another user instead."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "journal").symlink_to(tmp_path / "elsewhere")
    Journal(str(tmp_path / "journal")).write("event")
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    owner = (tmp_path / "journal").lstat().st_uid
    link = os.stat_result([0o120777, 1, 1, 1, owner + 1, *[0] * 5])
    monkeypatch.setattr(journal_module.os, "lstat", lambda _: link)
    Journal(str(tmp_path / "journal")).write("event")
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    assert f"a link of another user (uid {owner + 1})" in capsys.readouterr().err


def test_a_folder_that_the_journal_makes_is_private(tmp_path: Path) -> None:
    """The journal makes its folder for its owner alone, and leaves the mode of one that exists."""
    made = tmp_path / "made"
    existing = tmp_path / "existing"
    existing.mkdir(mode=0o755)
    existing.chmod(0o755)
    for folder in (made, existing):
        Journal(str(folder)).write("armed")
        assert len(list(folder.iterdir())) == 1
    assert made.stat().st_mode & 0o777 == 0o700
    assert existing.stat().st_mode & 0o777 == 0o755
