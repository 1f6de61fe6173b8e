from __future__ import annotations

import itertools
import json
import os
import resource
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


def test_a_journal_without_a_directory_is_kept_in_memory() -> None:
    """An entry in memory has the event, its fields, the time and the process."""
    journal = Journal()
    journal.write("role", role="main")
    (entry,) = journal.entries
    assert entry.pop("time") > 0
    assert entry == {"event": "role", "role": "main", "pid": os.getpid()}


def test_a_line_for_every_entry(tmp_path: Path) -> None:
    """The file holds the same entries as memory, complete after each entry."""
    journal = Journal(str(tmp_path / "new" / "folder"))
    for number in range(3):
        journal.write("event", number=number)
        assert lines(tmp_path / "new" / "folder") == [journal.entries]


def test_the_file_name_says_which_process_wrote_it(tmp_path: Path) -> None:
    """The name of the file has host and pid, and only the user may read the file."""
    Journal(str(tmp_path)).write("event")
    (file,) = tmp_path.iterdir()
    assert file.name.startswith(f"{os.uname().nodename}-{os.getpid()}-")
    assert file.suffix == ".jsonl"
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_file_before_the_first_entry(tmp_path: Path) -> None:
    """A journal without an entry makes neither its folder nor a file."""
    Journal(str(tmp_path / "journal"))
    assert not (tmp_path / "journal").exists()


def test_what_json_cannot_hold_is_written_as_text(tmp_path: Path) -> None:
    """An object is written as its repr, and a text that is no proper Unicode does not raise."""
    journal = Journal(str(tmp_path))
    journal.write("event", thing=object, text="\udcff")
    assert lines(tmp_path)[0][0]["thing"] == repr(object)


def test_all_looks_share_one_line(tmp_path: Path) -> None:
    """Each `verified` entry overwrites the one before in its place; its time is the last one's."""
    journal = Journal(str(tmp_path))
    journal.write("armed")
    for number in range(5):
        journal.verified()
        journal.write("event", number=number)
    (entries,) = lines(tmp_path)
    assert [line["event"] for line in entries] == ["armed", "verified", *["event"] * 5]
    assert entries[-2]["time"] <= entries[1]["time"] <= entries[-1]["time"]


def test_a_look_overwrites_only_its_own_line(tmp_path: Path) -> None:
    """A look begins a new line where its own is gone, and follows no link."""
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


def test_a_folder_that_cannot_be_written_is_reported_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process goes on with the entries in memory, and stderr has one line."""
    (tmp_path / "file").touch()
    journal = Journal(str(tmp_path / "file"))
    journal.write("one")
    journal.write("two")
    assert len(journal.entries) == 2
    assert capsys.readouterr().err.count("PATCHKIT_JOURNAL=") == 1


def test_a_folder_that_cannot_be_made_is_reported_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Stderr has one line for all entries, also where the system raises FileNotFoundError."""
    journal = Journal("/proc/no-such-place")
    journal.write("one")
    journal.write("two")
    assert capsys.readouterr().err.count("cannot be written") == 1


def test_a_file_that_was_deleted_is_written_again(tmp_path: Path) -> None:
    """After its file was deleted, the next entry writes all entries again, from the first."""
    journal = Journal(str(tmp_path / "journal"))
    journal.write("one")
    shutil.rmtree(tmp_path / "journal")
    journal.write("two")
    journal.write("three")
    (entries,) = lines(tmp_path / "journal")
    assert [entry["event"] for entry in entries] == ["one", "two", "three"]


def test_a_look_writes_a_deleted_file_again(tmp_path: Path) -> None:
    """A look writes all entries again after the file was deleted, and itself only once."""
    journal = Journal(str(tmp_path))
    journal.write("one")
    journal.verified()
    next(tmp_path.iterdir()).unlink()
    journal.verified()
    journal.verified()
    (entries,) = lines(tmp_path)
    assert [entry["event"] for entry in entries] == ["one", "verified"]


def test_a_file_that_is_written_again_has_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was only in memory may be more than a file may hold: it ends with a whole line."""
    journal = Journal(str(tmp_path))
    journal.write("first")
    for number in range(20):
        journal.entries.append({"event": "unwritten", "number": number})
    next(tmp_path.iterdir()).unlink()
    monkeypatch.setattr(journal_module, "MAX_BYTES", 500)
    journal.write("last")
    journal.write("later")
    (entries,) = lines(tmp_path)
    assert entries[0]["event"] == "first"
    assert 1 < len(entries) < 20


@pytest.mark.processes
def test_a_forked_child_writes_its_own_file(tmp_path: Path) -> None:
    """A forked child begins without entries, and writes into a file of its own."""
    journal = Journal(str(tmp_path))
    journal.write("parent")

    def work() -> None:
        journal.after_fork()
        journal.write("child")
        assert [entry["event"] for entry in journal.entries] == ["child"]

    in_child(work)
    journal.write("parent")
    events = [[entry["event"] for entry in entries] for entries in lines(tmp_path)]
    assert sorted(events) == [["child"], ["parent", "parent"]]


@pytest.mark.processes
def test_a_descriptor_that_somebody_closed_is_not_written_to(tmp_path: Path) -> None:
    """A process that closes all its descriptors finds no journal line in its next file.

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
    entries = itertools.chain.from_iterable(lines(tmp_path / "journal"))
    assert [entry["event"] for entry in entries] == ["before", "after"]


def test_a_relative_folder_does_not_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A journal in a relative folder stays there when the process changes its folder."""
    monkeypatch.chdir(tmp_path)
    journal = Journal("journal")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    journal.write("event")
    assert lines(tmp_path / "journal") == [journal.entries]


@pytest.mark.processes
def test_std_descriptors_are_left_free(tmp_path: Path) -> None:
    """A journal leaves descriptor 0 free for a process that starts without stdin."""

    def work() -> None:
        journal = Journal(str(tmp_path))
        os.close(0)
        journal.write("event")
        assert os.open(os.devnull, os.O_RDONLY) == 0

    in_child(work)
    assert len(lines(tmp_path)[0]) == 1


def test_a_file_does_not_grow_beyond_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full file ends with a `full` entry, in whole lines; memory still has every entry."""
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


def test_a_full_file_still_takes_what_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch that fails after 4 MB of other entries is not told as applied; the limit holds."""
    monkeypatch.setattr(journal_module, "MAX_BYTES", 64_000)
    journal = Journal(str(tmp_path))
    for number in range(2_000):
        journal.write("child", child=number)
    journal.write("patch", name="one", status="failed", reason="overwritten")
    journal.write("child", child=1)
    *_, full, failed = lines(tmp_path)[0]
    assert (full["event"], failed["event"]) == ("full", "patch")
    for _ in range(2_000):
        journal.write("patch", name="one", status="failed", reason="overwritten")
    (file,) = tmp_path.iterdir()
    assert 63_000 < file.stat().st_size <= 64_000
    assert lines(tmp_path)[0][-1] == {**failed, "time": lines(tmp_path)[0][-1]["time"]}


def test_threads_write_whole_lines_into_one_file(tmp_path: Path) -> None:
    """Lines of several threads do not mix, and those of one thread keep their order."""
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


def test_memory_does_not_grow_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit, the oldest entries are dropped, except for the very first one."""
    monkeypatch.setattr(journal_module, "MAX_ENTRIES", 10)
    journal = Journal()
    for number in range(15):
        journal.write("event", number=number)
    kept = [entry["number"] for entry in journal.entries]
    assert kept == [0, *range(6, 15)]


class Strange:
    """An object that has no text: its `repr` raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("thing", [Strange(), {(1, 2): 3}])
def test_what_cannot_be_written_stops_no_process(tmp_path: Path, thing: object) -> None:
    """An entry whose field cannot be written is written without it, and names the error."""
    Journal(str(tmp_path)).write("event", thing=thing)
    ((entry,),) = lines(tmp_path)
    assert entry["event"] == "event"
    assert entry["unwritten"] in ("RuntimeError", "TypeError")


def test_a_list_within_itself_stops_no_process(tmp_path: Path) -> None:
    """An entry with a list that contains itself is written without it, and names the error."""
    endless: list[Any] = []
    endless.append(endless)
    Journal(str(tmp_path)).write("event", thing=endless)
    assert lines(tmp_path)[0][0]["unwritten"] == "ValueError"


def test_what_follows_a_torn_line_is_whole(tmp_path: Path) -> None:
    """After a write that was cut short, the next entry is a whole line of its own."""
    journal = Journal(str(tmp_path))
    journal.write("one")
    write = os.write
    lengths: list[int] = []

    def cut_first_line(fd: int, line: bytes) -> int:
        is_first = not lengths
        lengths.append(len(line))
        if is_first:
            return write(fd, line[: len(line) // 2])
        return write(fd, line)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", cut_first_line)
        journal.write("two")
        journal.write("three")
    (file,) = tmp_path.iterdir()
    first, torn, *others = file.read_text().splitlines()
    assert json.loads(first)["event"] == "one"
    with pytest.raises(ValueError, match="line 1"):
        json.loads(torn)
    assert [json.loads(line)["event"] for line in others] == ["two", "three"]


def test_what_could_not_be_written_comes_before_the_next_entry(tmp_path: Path) -> None:
    """Entries of a full disk are written once there is space again, in their order."""
    journal = Journal(str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        journal.write("armed")
        journal.verified()
        journal.write("patch", status="failed")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    journal.verified()
    journal.write("later")
    (entries,) = lines(tmp_path)
    events = [entry["event"] for entry in entries]
    assert events == ["armed", "patch", "verified", "later"]


@pytest.mark.parametrize("event", ["write", "verified"])
def test_a_file_that_was_truncated_is_written_again(tmp_path: Path, event: str) -> None:
    """After its file was truncated, as rotation does, all entries are written again, each once."""
    journal = Journal(str(tmp_path))
    journal.write("armed")
    journal.verified()
    (file,) = tmp_path.iterdir()
    os.truncate(file, 0)
    if event == "write":
        journal.write("later")
    journal.verified()
    journal.verified()
    (entries,) = lines(tmp_path)
    events = [entry["event"] for entry in entries if entry["event"] != "verified"]
    assert events == [entry["event"] for entry in journal.entries]
    assert sum(entry["event"] == "verified" for entry in entries) == 1


def test_a_folder_that_can_be_written_later_gets_all_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once the folder can be written, entries go there; the trouble is reported once."""
    place = tmp_path / "journal"
    place.touch()
    journal = Journal(str(place))
    journal.write("early")
    place.unlink()
    journal.write("late")
    assert [entry["event"] for entry in lines(place)[0]] == ["early", "late"]
    assert capsys.readouterr().err.count("PATCHKIT_JOURNAL=") == 1


def test_process_facts_tell_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process facts hold plain values, also where `sys.argv` is missing, as while Python starts."""
    monkeypatch.delattr(sys, "argv")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "thing"])
    facts = process_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["ppid"], facts["argv"]) == (os.getppid(), ["-m", "thing"])
    assert facts["format"] == FORMAT


@pytest.mark.processes
def test_process_facts_tell_when_the_process_began() -> None:
    """The `began` of a process is the same each time, and a child's is not before its parent's."""
    began = process_facts()["began"]
    assert began == process_facts()["began"] > 0
    parent = os.getpid()

    def work() -> None:
        assert process_facts()["began"] >= began
        assert process_facts()["ppid"] == parent

    in_child(work)


def test_a_ray_worker_names_the_process_that_asked_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`asked_by` has PATCHKIT_PARENT in a worker process of Ray, and is None elsewhere."""
    monkeypatch.setenv("PATCHKIT_PARENT", "node:7")
    assert process_facts()["asked_by"] is None
    monkeypatch.setattr(sys, "orig_argv", ["python", "/ray/default_worker.py"])
    assert process_facts()["asked_by"] == "node:7"
