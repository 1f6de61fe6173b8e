"""Real processes whose journal cannot be written, or that die while they write it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import TIMEOUT, World, row

from patchkit.analysis.status import read_directory

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

world = packages.world

CONNECTIONS = 20
WORK = """
import patchkit.auto
from up.mod import function
print(function())
"""
FLOOD = """
import patchkit.auto, sys
print("begun", flush=True)
while True:
    patchkit.auto.session.journal.write("patch", name="one", status="applied", text="x" * 500)
"""
LIMITED = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (500, 500))\n"
# Root may write everywhere while it has the capability CAP_DAC_OVERRIDE; without root this fails,
# and does no harm.
NO_OVERRIDE = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(24, 1)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
TINY_DISK = 'mount -t tmpfs -o size=4k none "$0" && head -c 3800 /dev/zero > "$0/fill"; exec "$@"'


@pytest.fixture
def patched(world: World) -> World:
    """An upstream function that answers 'new' where it is patched."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("one", "patch_one", "Replace('up.mod:function', by='function')"),
        patch_one="def function(): return 'new'\n",
    )
    return world


def assert_works(done: subprocess.CompletedProcess[str], *, told: bool = True) -> None:
    """The program did what it does, and one line says that the journal cannot be written."""
    assert (done.returncode, done.stdout) == (0, "new\n"), done.stderr
    assert done.stderr.count("\n") == told
    assert ("PATCHKIT_JOURNAL=" in done.stderr) is told


def test_a_file_that_cannot_grow(patched: World) -> None:
    """A full disk tears the last line, which is no patch's: what is whole before it is read."""
    assert_works(patched.run("-c", WORK), told=False)
    (whole,) = patched.journal.iterdir()
    limit = whole.stat().st_size - 20
    whole.unlink()
    assert_works(
        patched.run("-c", LIMITED.replace("500", str(limit)) + WORK), told=False
    )
    (torn,) = patched.journal.iterdir()
    assert torn.stat().st_size == limit
    (one,) = read_directory(patched.journal)
    assert (one.roles, one.patches["one"].status) == (["main"], "applied")
    assert {patch.status for name, patch in one.patches.items() if name != "one"} == {
        "armed"
    }


def test_a_file_that_cannot_hold_a_line(patched: World) -> None:
    """Of the very first line half is lost: the name of the file says whose it is."""
    assert_works(patched.run("-c", LIMITED + WORK))
    (one,) = read_directory(patched.journal)
    assert (one.host, one.pid > 0, one.roles) == (os.uname().nodename, True, [])


def can_mount() -> bool:
    """Whether this user may make a disk of its own."""
    command = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs none /tmp"]
    has_it = shutil.which("unshare") is not None
    return (
        has_it
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


@pytest.mark.parametrize("disk", ["limit", *(["tmpfs"] if can_mount() else [])])
def test_a_full_disk(patched: World, disk: str) -> None:
    """The program goes on; where a disk of its own can be made, on a really full one."""
    patched.journal.mkdir()
    if disk == "limit":
        assert_works(patched.run("-c", LIMITED.replace("500", "0") + WORK))
        return
    words = ["unshare", "-Urm", "sh", "-c", TINY_DISK, str(patched.journal)]
    done = subprocess.run(
        [*words, sys.executable, "-c", WORK],
        env=patched.environ(),
        cwd=patched.folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert_works(done)
    assert "No space left on device" in done.stderr


def test_a_folder_that_may_not_be_written(patched: World) -> None:
    """Nothing is written, and the program does not know."""
    patched.journal.mkdir(mode=0o555)
    assert_works(patched.run("-c", NO_OVERRIDE, "-c", WORK))
    assert list(patched.journal.iterdir()) == []


def test_a_folder_that_cannot_be_made(patched: World) -> None:
    """The same under a file."""
    (patched.folder / "file").touch()
    assert_works(
        patched.run(
            "-c", WORK, PATCHKIT_JOURNAL=str(patched.folder / "file" / "journal")
        )
    )


def test_killed_while_it_writes(patched: World) -> None:
    """What was written before is read; at most the last line is torn."""
    process = subprocess.Popen(
        [sys.executable, "-c", FLOOD],
        env=patched.environ(),
        cwd=patched.folder,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait(TIMEOUT) == -signal.SIGKILL
    (one,) = read_directory(patched.journal)
    assert (one.pid, one.roles) == (process.pid, ["main"])


def test_many_processes_at_once(patched: World) -> None:
    """They make the folder together, and each has a whole journal of its own."""
    reader, writer = os.pipe()
    code = f"import os; os.read({reader}, 1)\n{WORK}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=patched.environ(),
            cwd=patched.folder,
            pass_fds=[reader],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(CONNECTIONS)
    ]
    os.close(reader)
    os.write(writer, b"x" * CONNECTIONS)
    os.close(writer)
    for process in processes:
        assert process.communicate(timeout=2 * TIMEOUT) == ("new\n", "")
    found = {
        one.pid: one.patches["one"].status for one in read_directory(patched.journal)
    }
    assert found == {process.pid: "applied" for process in processes}


def test_only_the_owner_may_read(patched: World, tmp_path: Path) -> None:
    """Whatever the umask is: folder and files."""
    code = f"import os; os.umask(0)\n{WORK}"
    assert_works(patched.run("-c", code), told=False)
    (file,) = patched.journal.iterdir()
    assert patched.journal.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_tidied_up_is_told_whole_again(patched: World) -> None:
    """`status` knows the process, its role and its patch, though its journal was deleted."""
    later = "import os, shutil; shutil.rmtree(os.environ['PATCHKIT_JOURNAL'])\n"
    enters = "from patchkit import Role; patchkit.auto.session.enter(Role.WORKER)\n"
    assert_works(patched.run("-c", WORK + later + enters), told=False)
    (process,) = read_directory(patched.journal)
    assert process.roles == ["main", "worker"]
    assert process.patches["one"].status == "applied"


def test_a_relative_folder_is_the_childs_too(patched: World) -> None:
    """A child that is started from another folder writes beside its parent."""
    child = "import subprocess, sys, os; os.makedirs('below'); os.chdir('below')\n"
    runs = f"subprocess.run([sys.executable, '-c', {WORK!r}], check=True)\n"
    done = patched.run("-c", WORK + child + runs, PATCHKIT_JOURNAL="of-run")
    assert done.stdout.split() == ["new", "new"], done.stderr
    assert len(read_directory(patched.folder / "of-run")) == 2
    assert not (patched.folder / "below" / "of-run").exists()


def test_a_relative_folder_below_one_that_is_gone(patched: World) -> None:
    """There is no place for the journal: the process works, and says so."""
    gone = "import os; os.makedirs('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
    done = patched.run("-c", gone + WORK, PATCHKIT_JOURNAL="of-run")
    assert_works(done)
    assert "the current folder, which is gone" in done.stderr
