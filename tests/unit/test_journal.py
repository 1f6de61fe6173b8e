from __future__ import annotations

import json
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from patchkit import journal as journal_module
from patchkit.journal import Journal, process_facts

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def lines(directory: Path) -> list[list[dict[str, Any]]]:
    """The entries of each file, in the order of their names."""
    return [
        [json.loads(line) for line in file.read_text().splitlines()]
        for file in sorted(directory.iterdir())
    ]


def in_child(work: Any) -> None:
    """Do some work in a forked child, which must succeed."""
    if (pid := os.fork()) == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(repr(error))
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_without_a_directory_it_is_kept_in_memory() -> None:
    """Entries hold the event, its fields, the time and the process."""
    journal = Journal()
    journal.write("role", role="main")
    (entry,) = journal.entries
    assert entry.pop("time") > 0
    assert entry == {"event": "role", "role": "main", "pid": os.getpid()}


def test_a_line_for_every_entry(tmp_path: Path) -> None:
    """The file says what memory holds, whole after each entry."""
    journal = Journal(str(tmp_path / "new" / "folder"))
    for number in range(3):
        journal.write("event", number=number)
        assert lines(tmp_path / "new" / "folder") == [journal.entries]


def test_the_name_says_who_wrote_it(tmp_path: Path) -> None:
    """Host and pid are in the name, and only the user may read the file."""
    Journal(str(tmp_path)).write("event")
    (file,) = tmp_path.iterdir()
    assert file.name.startswith(f"{os.uname().nodename}-{os.getpid()}-")
    assert file.suffix == ".jsonl"
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_file_before_the_first_entry(tmp_path: Path) -> None:
    """A process in which nothing happens leaves none."""
    Journal(str(tmp_path / "journal"))
    assert not (tmp_path / "journal").exists()


def test_what_json_cannot_hold_is_written_as_text(tmp_path: Path) -> None:
    """An object and a text that is no proper Unicode do not stop the process."""
    journal = Journal(str(tmp_path))
    journal.write("event", thing=object, text="\udcff")
    assert lines(tmp_path)[0][0]["thing"] == repr(object)


def test_a_folder_that_cannot_be_written_is_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process goes on, with the entries in memory."""
    (tmp_path / "file").touch()
    journal = Journal(str(tmp_path / "file"))
    journal.write("one")
    journal.write("two")
    assert len(journal.entries) == 2
    assert capsys.readouterr().err.count("PATCHKIT_JOURNAL=") == 1


def test_a_forked_child_writes_its_own_file(tmp_path: Path) -> None:
    """Child and parent do not write into each other's journal, nor inherit entries."""
    journal = Journal(str(tmp_path))
    journal.write("parent")

    def work() -> None:
        journal.after_fork()
        journal.write("child")
        assert [entry["event"] for entry in journal.entries] == ["child"]

    in_child(work)
    journal.write("parent")
    found = sorted([entry["event"] for entry in file] for file in lines(tmp_path))
    assert found == [["child"], ["parent", "parent"]]


def test_a_descriptor_that_somebody_closed_is_not_written_to(tmp_path: Path) -> None:
    """
    A process that closes all its descriptors does not find journal lines in its next file.

    Daemons do that.
    """

    def work() -> None:
        journal = Journal(str(tmp_path / "journal"))
        journal.write("before")
        os.closerange(3, 100)
        theirs = os.open(tmp_path / "theirs", os.O_WRONLY | os.O_CREAT)
        journal.write("after")
        os.close(theirs)

    in_child(work)
    assert (tmp_path / "theirs").read_bytes() == b""
    events = [entry["event"] for file in lines(tmp_path / "journal") for entry in file]
    assert events == ["before", "after"]


def test_a_relative_folder_does_not_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that changes its folder keeps its journal where it was asked for."""
    monkeypatch.chdir(tmp_path)
    journal = Journal("journal")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal.write("event")
    assert lines(tmp_path / "journal") == [journal.entries]


def test_std_descriptors_are_left_free(tmp_path: Path) -> None:
    """A process that starts without stdin can still claim descriptor 0 for it."""

    def work() -> None:
        journal = Journal(str(tmp_path))
        os.close(0)
        journal.write("event")
        assert os.open(os.devnull, os.O_RDONLY) == 0

    in_child(work)
    assert len(lines(tmp_path)[0]) == 1


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit the file stays as it is, in whole lines."""
    monkeypatch.setattr(journal_module, "MAX_BYTES", 200)
    journal = Journal(str(tmp_path))
    for number in range(20):
        journal.write("event", number=number)
    (file,) = tmp_path.iterdir()
    assert 0 < file.stat().st_size <= 200
    assert lines(tmp_path)[0] == journal.entries[: len(lines(tmp_path)[0])]


def test_threads_write_whole_lines_into_one_file(tmp_path: Path) -> None:
    """Lines of several threads do not mix."""
    journal = Journal(str(tmp_path))
    barrier = threading.Barrier(4)

    def work(name: int) -> None:
        barrier.wait(10)
        for number in range(50):
            journal.write("event", thread=name, number=number, text="x" * 300)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    (entries,) = lines(tmp_path)
    assert len(entries) == 200
    for name in range(4):
        numbers = [entry["number"] for entry in entries if entry["thread"] == name]
        assert numbers == list(range(50))


def test_process_facts_tell_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold plain values, also where `sys.argv` is not there (an embedded Python)."""
    monkeypatch.delattr(sys, "argv")
    facts = process_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["ppid"], facts["argv"]) == (os.getppid(), [])
