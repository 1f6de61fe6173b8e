"""Commands of others: without the network, in folders of their own, for a limited time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from patchkit.authoring.isolation import launcher
from patchkit.authoring.isolation.commands import IsolatedRun, run_isolated

pytestmark = pytest.mark.processes

CONNECT = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5).close()
print("connected")
"""
REFUSED = """
import importlib.util, socket, sys
spec = importlib.util.spec_from_file_location("launcher", sys.argv[2])
launcher = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launcher)
launcher._refuse_sockets()
socket.socketpair()
socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=5).close()
print("connected")
"""


def run(*words: str, timeout: float = 60, **options: object) -> IsolatedRun:
    """Run a command with the environment of the tests."""
    return run_isolated(words, timeout=timeout, environ=os.environ, **options)  # type: ignore[arg-type]


def has_ended(pid: str) -> bool:
    """Whether a process ends within seconds, or was ended and nobody has asked for its code."""
    for _ in range(200):
        try:
            state = Path("/proc", pid, "stat").read_text()
        except OSError:
            return True
        if " Z " in state:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def port() -> object:
    """A port on which this process accepts connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


def test_a_command_reaches_no_network(port: str) -> None:
    """Not even the machine's own, unless the system refuses the cut, and then it says so."""
    done = run(sys.executable, "-c", CONNECT, port)
    assert done.isolation.network or "connected" not in done.output
    assert done.isolation.network or done.code == 1


def test_sockets_are_refused_where_a_network_of_its_own_is_not_allowed(
    port: str,
) -> None:
    """Local pairs of sockets are made, others are not."""
    done = run(sys.executable, "-c", REFUSED, port, str(launcher.__file__))
    assert "connected" not in done.output
    assert done.last_line == "PermissionError: [Errno 1] Operation not permitted"


def test_files_outside_of_its_folders_stay_as_they_are(tmp_path: Path) -> None:
    """It can write into its own folder, and read everywhere."""
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = tmp_path / "outside.txt"
    outside.write_text("old")
    script = f"cat {outside} > copy && echo new > {outside}"
    done = run("sh", "-c", script, cwd=inside, writable=[inside])
    assert (inside / "copy").read_text() == "old"
    if not done.isolation.files:
        assert done.code != 0
        assert outside.read_text() == "old"
        assert run("rm", str(outside), writable=[inside]).code != 0
        assert run("sh", "-c", "echo > /dev/null", writable=[inside]).code == 0


def test_without_folders_every_file_can_be_written(tmp_path: Path) -> None:
    done = run("touch", str(tmp_path / "new"))
    assert done.code == 0
    assert (tmp_path / "new").exists()


def test_a_command_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path,
) -> None:
    """Nothing of its process group is left, and what it has printed so far is there."""
    script = "sleep 60 & echo $!; sleep 60"
    began = time.monotonic()
    done = run("sh", "-c", script, timeout=1)
    assert done.code is None
    assert time.monotonic() - began < 30
    assert has_ended(done.last_line)


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    """The command is in a session of its own, which a terminal's Ctrl-C does not reach."""
    code = (
        "import os\nfrom patchkit.authoring.isolation.commands import run_isolated\n"
        "run_isolated(['sh', '-c', 'echo $$ > pid; sleep 60'], timeout=60, environ=os.environ)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    file = tmp_path / "pid"
    for _ in range(600):
        if file.exists() and file.read_text().strip():
            break
        time.sleep(0.05)
    parent.send_signal(signal.SIGINT)
    assert parent.wait(30) != 0
    assert has_ended(file.read_text().strip())


def test_a_background_child_does_not_outlive_its_command() -> None:
    done = run("sh", "-c", "sleep 60 & echo $!")
    assert done.code == 0
    assert has_ended(done.last_line)


def test_the_input_and_the_output_are_passed_on() -> None:
    done = run("sh", "-c", "cat; echo two >&2; exit 3", input_text="one\n")
    assert (done.code, done.output) == (3, "one\ntwo\n")
    assert done.last_line == "two"


def test_a_program_that_is_missing_has_the_code_of_a_shell() -> None:
    done = run("no-such-program")
    assert done.code == 127
    assert done.last_line == "no-such-program: No such file or directory"


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("raise SystemExit(3)", "with 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "by SIGILL"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)",
            "by signal 37",
        ),
    ],
)
def test_how_it_ended(code: str, ending: str) -> None:
    """A signal is named, as SIGILL where a library has instructions that this CPU lacks."""
    assert run(sys.executable, "-c", code).ending == ending
