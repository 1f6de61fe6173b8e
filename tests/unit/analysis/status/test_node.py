from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import TIMEOUT, World
from support.programs import program

from patchkit.analysis.status import node
from patchkit.analysis.status.picture import draw
from patchkit.core.engines.vllm import ENGINE
from patchkit.runtime.process import journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

world = packages.world

ARMED = "import patchkit.auto, sys\nprint('ready', flush=True)\nsys.stdin.read()"
PARENT = """
import patchkit.auto, os, subprocess, sys
os.environ["PATCHKIT"] = "0"
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], *sys.argv[2:]])
child.wait()
"""
WITH_VLLM = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    library = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test waits until a process is old enough to have a journal."""
    monkeypatch.setattr(node, "_SECONDS_AFTER_FORK", -1.0)


@pytest.fixture
def library(tmp_path: Path) -> str:
    """What looks like a compiled part of vLLM to who reads a process's memory map."""
    file = tmp_path / "vllm" / "_C.abi3.so"
    file.parent.mkdir()
    file.write_bytes(b"x")
    return str(file)


class Started:
    """Processes that wait until they may end."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._processes: list[subprocess.Popen[bytes]] = []

    def __call__(self, *words: str, **environ: str) -> int:
        """Start a Python and wait until it says that it is ready; return its pid."""
        process = subprocess.Popen(
            [sys.executable, "-c", *words],
            env=self._world.environ(**environ),
            cwd=self._world.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    def end(self) -> None:
        """Let them end."""
        for process in self._processes:
            process.communicate(timeout=TIMEOUT)


@pytest.fixture
def start(world: World) -> Iterator[Started]:
    """Start processes, which end with the test."""
    started = Started(world)
    yield started
    started.end()


def look(world: World) -> dict[str, Any]:
    """What this node says of the journals of the world, and of its processes."""
    return node.look(str(world.journal), [ENGINE.signs])


@pytest.mark.processes
def test_a_process_is_alive_until_it_ends(world: World, start: Started) -> None:
    """A process is shown as alive while it runs, and as not alive once it has ended."""
    pid = start(ARMED)
    first_look = look(world)
    assert first_look["host"] == os.uname().nodename
    (process,) = draw([first_look]).processes
    assert (process.pid, process.alive, process.roles) == (pid, True, ["main"])
    start.end()
    assert [process.alive for process in draw([look(world)]).processes] == [False]


@pytest.mark.processes
def test_a_child_with_vllm_and_without_patchkit(
    world: World, start: Started, library: str
) -> None:
    """A child with vLLM that a reached process has started is found, with name and reason."""
    pid = start(PARENT, WITH_VLLM, library)
    parent, stranger = draw([look(world)]).processes
    assert (parent.pid, stranger.parent, stranger.is_reached) == (pid, parent, False)
    assert library in stranger.name
    assert "PATCHKIT=0" in stranger.reason


@pytest.mark.processes
def test_a_process_with_vllm_that_wrote_no_journal(
    world: World, start: Started, library: str
) -> None:
    """A process with vLLM that has the same journal directory, but no journal, is found."""
    pid = start(WITH_VLLM, library)
    (stranger,) = draw([look(world)]).processes
    assert (stranger.pid, stranger.reason) == (
        pid,
        "has vLLM loaded, without a journal",
    )


@pytest.mark.processes
def test_a_process_with_another_journal_directory(
    world: World, start: Started, library: str
) -> None:
    """A process with vLLM that has another journal directory and parent is not shown."""
    start(WITH_VLLM, library, PATCHKIT_JOURNAL="/elsewhere")
    assert draw([look(world)]).processes == []


@pytest.mark.processes
def test_a_process_that_has_just_begun(
    world: World, start: Started, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new process with vLLM is not shown yet: its journal may come a moment later."""
    start(WITH_VLLM, library)
    monkeypatch.setattr(node, "_SECONDS_AFTER_FORK", 3600.0)
    assert draw([look(world)]).processes == []


@pytest.mark.processes
def test_without_proc_nobody_knows_what_is_alive(
    world: World, start: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system without /proc, `alive` of a process is None."""
    start(ARMED)
    monkeypatch.setattr(node, "_PROC", world.folder / "proc")
    (process,) = draw([look(world)]).processes
    assert process.alive is None


def test_the_directory_of_this_node(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATCHKIT_JOURNAL says which, unless one is given; without both it is an error."""
    assert "PATCHKIT_JOURNAL is not set" in node.look(None)["error"]
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(world.journal))
    seen = node.look(None)
    assert (seen["directory"], seen["error"]) == (str(world.journal), None)


@pytest.mark.processes
def test_what_is_seen_can_be_sent(world: World, start: Started) -> None:
    """What a node sees is pickled without any class of patchkit, and is the same when unpickled."""
    start(ARMED)
    seen = look(world)
    assert b"patchkit." not in pickle.dumps({**seen, "journals": {}, "processes": None})
    assert pickle.loads(pickle.dumps(seen)) == seen


@pytest.mark.processes
def test_a_node_needs_only_the_standard_library() -> None:
    """The source of `node` runs where patchkit cannot be imported."""
    code = program(__file__, "node_alone")
    finished = subprocess.run(
        [sys.executable, "-I", "-c", code, str(node.__file__)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert finished.stdout.strip() == os.uname().nodename


def test_what_is_no_journal_is_named(world: World) -> None:
    """A FIFO, a link, a folder and a huge file are named with the reason, and not read."""
    world.journal.mkdir(exist_ok=True)
    os.mkfifo(world.journal / "fifo.jsonl")
    (world.journal / "device.jsonl").symlink_to("/dev/zero")
    (world.journal / "link.jsonl").symlink_to(world.folder / "secret")
    (world.journal / "folder.jsonl").mkdir()
    with (world.journal / "huge.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    seen = look(world)
    assert seen["journals"] == {}
    reasons = {
        name: reason.partition(" than")[0]
        for name, reason in seen["unreadable"].items()
    }
    assert reasons == {
        "device.jsonl": "it is a link",
        "fifo.jsonl": "it is not a regular file",
        "folder.jsonl": "Is a directory",
        "huge.jsonl": "it has more",
        "link.jsonl": "it is a link",
    }


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("my-node-7-18.jsonl", ("my-node", 7)),
        ("notes.jsonl", ("", 0)),
        ("a-b-c.jsonl", ("a", 0)),
        ("a-" + "9" * 30 + "-1.jsonl", ("a", 0)),
    ],
)
def test_the_writer_of_a_journal_is_in_its_name(
    name: str, found: tuple[str, int]
) -> None:
    """Host and pid of the writer are read from a file's name, '' and 0 where it has none."""
    assert node.writer(name) == found


def test_where_a_pid_counts_is_told_as_in_the_journal(tmp_path: Path) -> None:
    """A node and a journal name boot and pid namespace alike; pids of others are no writers."""
    here = journal.pid_space()
    assert ":" in here
    assert node.look(str(tmp_path), [])["space"] == here
    host = os.uname().nodename
    journals = {
        f"{host}-7-1.jsonl": b'{"event": "armed", "space": "%s"}' % here.encode(),
        f"{host}-8-1.jsonl": b'{"event": "armed", "space": "another:1"}',
        f"{host}-9-1.jsonl": b'{"event": "armed"}',
    }
    assert node._writers(host, journals) == {7, 9}


def test_descendants_of_writers_are_related() -> None:
    """A child that has dropped the variable of the journal's directory is one, too."""
    running: Any = {
        pid: {"ppid": ppid, "name": "python"}
        for pid, ppid in ((1, 0), (2, 1), (3, 2), (4, 0))
    }
    assert node._related(running, {1}, None) == {1, 2, 3}


def test_a_folder_that_cannot_be_listed_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody says that nothing is patched there; a folder that is not there yet has no journal."""

    def refuse(_folder: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")

    assert node.read("/no-such-folder") == ({}, {})
    monkeypatch.setattr(node.Path, "iterdir", refuse)
    assert node.read("/journal") == ({}, {"/journal": "Permission denied"})
