from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from patchkit.analysis.status.process_status import FORMAT
from patchkit.runtime.process import journal as journal_module
from patchkit.runtime.process.journal import Journal, process_facts

if TYPE_CHECKING:
    from pathlib import Path


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


def test_looks_are_one_line(tmp_path: Path) -> None:
    """Each writes over the one before, among other lines; the time is that of the last."""
    journal = Journal(str(tmp_path))
    journal.write("armed")
    for number in range(5):
        journal.verified()
        journal.write("event", number=number)
    (found,) = lines(tmp_path)
    assert [line["event"] for line in found] == ["armed", "verified", *["event"] * 5]
    assert found[-2]["time"] <= found[1]["time"] <= found[-1]["time"]


def test_a_look_writes_over_nothing_else(tmp_path: Path) -> None:
    """Where its line is gone, it begins another, and where a link stands it follows none."""
    journal = Journal(str(tmp_path / "journal"))
    journal.write("armed")
    journal.verified()
    (file,) = (tmp_path / "journal").iterdir()
    kept = tmp_path / "kept"
    file.rename(kept)
    text = kept.read_text()
    file.symlink_to(kept)
    journal.verified()
    assert kept.read_text().startswith(text)
    torn = kept.read_text().replace("verified", "VERIFIED")
    kept.write_text(torn)
    file.unlink()
    kept.rename(file)
    journal.verified()
    assert file.read_text().startswith(torn)


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


def test_a_folder_that_cannot_be_made_is_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where there is no place for it, also if the system says that something is not there."""
    journal = Journal("/proc/no-such-place")
    journal.write("one")
    journal.write("two")
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_a_file_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    """Somebody who tidies up takes nothing from what follows: the head is there again."""
    journal = Journal(str(tmp_path / "journal"))
    journal.write("one")
    shutil.rmtree(tmp_path / "journal")
    journal.write("two")
    journal.write("three")
    (found,) = lines(tmp_path / "journal")
    assert [entry["event"] for entry in found] == ["one", "two", "three"]


def test_a_look_writes_a_deleted_file_again(tmp_path: Path) -> None:
    """A process in which nothing more happens is found again, too."""
    journal = Journal(str(tmp_path))
    journal.write("one")
    journal.verified()
    next(tmp_path.iterdir()).unlink()
    journal.verified()
    journal.verified()
    (found,) = lines(tmp_path)
    assert [entry["event"] for entry in found] == ["one", "verified"]


@pytest.mark.processes
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


@pytest.mark.processes
def test_a_descriptor_that_somebody_closed_is_not_written_to(tmp_path: Path) -> None:
    """A process that closes all its descriptors does not find journal lines in its next file.

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


def test_a_relative_folder_does_not_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that changes its folder keeps its journal where it was asked for."""
    monkeypatch.chdir(tmp_path)
    journal = Journal("journal")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal.write("event")
    assert lines(tmp_path / "journal") == [journal.entries]


@pytest.mark.processes
def test_std_descriptors_are_left_free(tmp_path: Path) -> None:
    """A process that starts without stdin can still claim descriptor 0 for it."""

    def work() -> None:
        journal = Journal(str(tmp_path))
        os.close(0)
        journal.write("event")
        assert os.open(os.devnull, os.O_RDONLY) == 0

    in_child(work)
    assert len(lines(tmp_path)[0]) == 1


def test_it_does_not_grow_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the limit the file says so in its last line, and stays as it is, in whole lines."""
    monkeypatch.setattr(journal_module, "MAX_BYTES", 400)
    journal = Journal(str(tmp_path))
    for number in range(20):
        journal.write("event", number=number)
    (file,) = tmp_path.iterdir()
    assert 0 < file.stat().st_size <= 400
    (*kept, last) = lines(tmp_path)[0]
    assert kept == journal.entries[: len(kept)]
    assert last["event"] == "full"
    assert len(journal.entries) == 20


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


def test_memory_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may start children all its life; who it is stays, else the oldest go first."""
    monkeypatch.setattr(journal_module, "MAX_ENTRIES", 10)
    journal = Journal()
    for number in range(15):
        journal.write("event", number=number)
    kept = [entry["number"] for entry in journal.entries]
    assert kept == [0, *range(6, 15)]


class Strange:
    """Nobody can make a text of it."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("thing", [Strange(), {(1, 2): 3}])
def test_what_cannot_be_written_stops_no_process(tmp_path: Path, thing: object) -> None:
    """The entry is there, and says that it lacks something."""
    Journal(str(tmp_path)).write("event", thing=thing)
    ((entry,),) = lines(tmp_path)
    assert entry["event"] == "event"
    assert entry["unwritten"] in ("RuntimeError", "TypeError")


def test_a_list_within_itself_stops_no_process(tmp_path: Path) -> None:
    """JSON has no end for it."""
    endless: list[Any] = []
    endless.append(endless)
    Journal(str(tmp_path)).write("event", thing=endless)
    assert lines(tmp_path)[0][0]["unwritten"] == "ValueError"


def test_what_follows_a_torn_line_is_whole(tmp_path: Path) -> None:
    """A disk that was full for a moment costs the entries of that moment only."""
    journal = Journal(str(tmp_path))
    journal.write("one")
    write, torn = os.write, iter([True])

    def half(fd: int, line: bytes) -> int:
        return write(fd, line[: len(line) // 2] if next(torn, False) else line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", half)
        journal.write("two")
        journal.write("three")
    (file,) = tmp_path.iterdir()
    one, two, three = file.read_text().splitlines()
    assert json.loads(one)["event"] == "one"
    with pytest.raises(ValueError, match="line 1"):
        json.loads(two)
    assert json.loads(three)["event"] == "three"


def test_a_folder_that_can_be_written_again_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What happens after the trouble is over is there to read."""
    place = tmp_path / "journal"
    place.touch()
    journal = Journal(str(place))
    journal.write("lost")
    place.unlink()
    journal.write("kept")
    assert [entry["event"] for entry in lines(place)[0]] == ["kept"]
    assert capsys.readouterr().err.count("PATCHKIT_JOURNAL=") == 1


def test_process_facts_tell_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold plain values, also where `sys.argv` is not there, as while Python starts."""
    monkeypatch.delattr(sys, "argv")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "thing"])
    facts = process_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["ppid"], facts["argv"]) == (os.getppid(), ["-m", "thing"])
    assert facts["format"] == FORMAT


@pytest.mark.processes
def test_a_process_is_told_by_when_it_began() -> None:
    """The same each time it is asked; a child has its own."""
    began = process_facts()["began"]
    assert began == process_facts()["began"] > 0
    parent = os.getpid()

    def work() -> None:
        assert process_facts()["began"] >= began
        assert process_facts()["ppid"] == parent

    in_child(work)


def test_ray_says_who_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a worker process that Ray started has another parent than its own."""
    monkeypatch.setenv("PATCHKIT_PARENT", "node:7")
    assert process_facts()["asked_by"] is None
    monkeypatch.setattr(sys, "orig_argv", ["python", "/ray/default_worker.py"])
    assert process_facts()["asked_by"] == "node:7"
