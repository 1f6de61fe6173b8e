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
    monkeypatch.setattr(node, "_NEWBORN_SECONDS", -1.0)


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
    return node.look(str(world.journal))


@pytest.mark.processes
def test_a_process_that_runs(world: World, start: Started) -> None:
    """It is known by its number and the moment at which it began, until it ends."""
    pid = start(ARMED)
    seen = look(world)
    assert seen["host"] == os.uname().nodename
    (one,) = draw([seen]).processes
    assert (one.pid, one.alive, one.roles) == (pid, True, ["main"])
    start.end()
    assert [one.alive for one in draw([look(world)]).processes] == [False]


@pytest.mark.processes
def test_a_child_with_vllm_and_without_patchkit(
    world: World, start: Started, library: str
) -> None:
    """A process that patchkit reached has started it; it is found and named."""
    pid = start(PARENT, WITH_VLLM, library)
    parent, stranger = draw([look(world)]).processes
    assert (parent.pid, stranger.parent, stranger.is_reached) == (pid, parent, False)
    assert library in stranger.name
    assert "PATCHKIT=0" in stranger.reason


@pytest.mark.processes
def test_a_process_with_the_same_journal(
    world: World, start: Started, library: str
) -> None:
    """It was told where to write, and has written nothing."""
    pid = start(WITH_VLLM, library)
    (stranger,) = draw([look(world)]).processes
    assert (stranger.pid, stranger.reason) == (
        pid,
        "has vLLM loaded, without a journal",
    )


@pytest.mark.processes
def test_a_process_of_somebody_else(world: World, start: Started, library: str) -> None:
    """Another journal, another tree: none of this one's business."""
    start(WITH_VLLM, library, PATCHKIT_JOURNAL="/elsewhere")
    assert draw([look(world)]).processes == []


@pytest.mark.processes
def test_a_process_that_has_just_begun(
    world: World, start: Started, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork has its parent's libraries at once, and its journal a moment later."""
    start(WITH_VLLM, library)
    monkeypatch.setattr(node, "_NEWBORN_SECONDS", 3600.0)
    assert draw([look(world)]).processes == []


@pytest.mark.processes
def test_without_proc(
    world: World, start: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A system that does not tell of processes."""
    start(ARMED)
    monkeypatch.setattr(node, "_PROC", world.folder / "proc")
    (one,) = draw([look(world)]).processes
    assert one.alive is None


def test_the_directory_of_this_node(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATCHKIT_JOURNAL says which, unless one is given; without both it is an error."""
    assert "PATCHKIT_JOURNAL is not set" in node.look(None)["error"]
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(world.journal))
    assert (node.look(None)["directory"], node.look(None)["error"]) == (
        str(world.journal),
        None,
    )


@pytest.mark.processes
def test_what_is_seen_can_be_sent(world: World, start: Started) -> None:
    """Only plain values: no node needs patchkit to make or read them."""
    start(ARMED)
    seen = look(world)
    assert b"patchkit." not in pickle.dumps({**seen, "journals": {}, "processes": None})
    assert pickle.loads(pickle.dumps(seen)) == seen


@pytest.mark.processes
def test_it_needs_only_the_standard_library() -> None:
    """It runs on nodes that have no patchkit."""
    code = program(__file__, "node_alone")
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, str(node.__file__)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    assert done.stdout.strip() == os.uname().nodename


def test_what_is_no_journal_is_named(world: World) -> None:
    """A FIFO, a link to an endless device or a file, a folder, a huge file: none is read."""
    world.journal.mkdir(exist_ok=True)
    os.mkfifo(world.journal / "fifo.jsonl")
    (world.journal / "device.jsonl").symlink_to("/dev/zero")
    (world.journal / "link.jsonl").symlink_to(world.folder / "secret")
    (world.journal / "folder.jsonl").mkdir()
    with (world.journal / "huge.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    seen = look(world)
    assert seen["journals"] == {}
    assert {
        name: reason.partition(" than")[0]
        for name, reason in seen["unreadable"].items()
    } == {
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
def test_who_wrote_a_file(name: str, found: tuple[str, int]) -> None:
    """Its name says, if it is a journal's."""
    assert node.writer(name) == found
