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
    """A world whose upstream function answers 'new' where it is patched."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("one", "patch_one", "Replace('up.mod:function', by='function')"),
        patch_one="def function(): return 'new'\n",
    )
    return world


def assert_works(
    done: subprocess.CompletedProcess[str], *, is_reported: bool = True
) -> None:
    """Assert that the program has worked, and whether stderr names the journal in one line."""
    assert (done.returncode, done.stdout) == (0, "new\n"), done.stderr
    assert done.stderr.count("\n") == is_reported
    assert ("PATCHKIT_JOURNAL=" in done.stderr) is is_reported


def test_a_file_that_cannot_grow(patched: World) -> None:
    """A full disk tears the last line only: the entries before it are read, and nothing is said."""
    assert_works(patched.run("-c", WORK), is_reported=False)
    (complete,) = patched.journal.iterdir()
    limit = complete.stat().st_size - 20
    complete.unlink()
    limited = LIMITED.replace("500", str(limit))
    assert_works(patched.run("-c", limited + WORK), is_reported=False)
    (torn,) = patched.journal.iterdir()
    assert torn.stat().st_size == limit
    (process,) = read_directory(patched.journal)
    assert process.roles == ["main"]
    statuses = {name: patch.status for name, patch in process.patches.items()}
    assert statuses.pop("one") == "applied"
    assert set(statuses.values()) == {"armed"}


def test_a_file_that_cannot_hold_a_line(patched: World) -> None:
    """Where even the first line is torn, the name of the file says whose journal it is."""
    assert_works(patched.run("-c", LIMITED + WORK))
    (process,) = read_directory(patched.journal)
    assert process.host == os.uname().nodename
    assert process.pid > 0
    assert process.roles == []


def can_mount() -> bool:
    """Whether this user may make a disk of its own."""
    command = ["unshare", "-Urm", "sh", "-c", "mount -t tmpfs none /tmp"]
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run(command, check=False, capture_output=True)
    return done.returncode == 0


DISKS = ["limit", "tmpfs"] if can_mount() else ["limit"]


@pytest.mark.parametrize("disk", DISKS)
def test_a_full_disk(patched: World, disk: str) -> None:
    """A program works with a full disk, and reports that its journal cannot be written."""
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
    """A program works where its journal folder is read-only, and writes nothing there."""
    patched.journal.mkdir(mode=0o555)
    assert_works(patched.run("-c", NO_OVERRIDE, "-c", WORK))
    assert list(patched.journal.iterdir()) == []


def test_a_folder_that_cannot_be_made(patched: World) -> None:
    """A program works where its journal folder would have to be made beneath a file."""
    file = patched.folder / "file"
    file.touch()
    assert_works(patched.run("-c", WORK, PATCHKIT_JOURNAL=str(file / "journal")))


def test_a_process_that_is_killed_while_it_writes(patched: World) -> None:
    """The journal of a killed process is read: who it was, and the role that it had."""
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
    (killed,) = read_directory(patched.journal)
    assert (killed.pid, killed.roles) == (process.pid, ["main"])


def test_many_processes_at_once(patched: World) -> None:
    """Processes that start at once make the folder together, and each has its own journal."""
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
    statuses = {
        process.pid: process.patches["one"].status
        for process in read_directory(patched.journal)
    }
    assert statuses == {process.pid: "applied" for process in processes}


def test_only_the_owner_may_read(patched: World, tmp_path: Path) -> None:
    """Journal folder and file are private to their owner, whatever the umask is."""
    code = f"import os; os.umask(0)\n{WORK}"
    assert_works(patched.run("-c", code), is_reported=False)
    (file,) = patched.journal.iterdir()
    assert patched.journal.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_journal_that_was_deleted_is_written_again(patched: World) -> None:
    """`status` knows roles and patches of a process whose journal was deleted while it ran."""
    later = "import os, shutil; shutil.rmtree(os.environ['PATCHKIT_JOURNAL'])\n"
    enters = "from patchkit import Role; patchkit.auto.session.enter(Role.WORKER)\n"
    assert_works(patched.run("-c", WORK + later + enters), is_reported=False)
    (process,) = read_directory(patched.journal)
    assert process.roles == ["main", "worker"]
    assert process.patches["one"].status == "applied"


def test_a_relative_folder_is_that_of_the_child_too(patched: World) -> None:
    """A child that is started from another folder writes its journal beside its parent's."""
    child = "import subprocess, sys, os; os.makedirs('below'); os.chdir('below')\n"
    runs = f"subprocess.run([sys.executable, '-c', {WORK!r}], check=True)\n"
    done = patched.run("-c", WORK + child + runs, PATCHKIT_JOURNAL="of-run")
    assert done.stdout.split() == ["new", "new"], done.stderr
    assert len(read_directory(patched.folder / "of-run")) == 2
    assert not (patched.folder / "below" / "of-run").exists()


def test_a_relative_folder_below_one_that_is_gone(patched: World) -> None:
    """A process works, and reports that its current folder, where the journal belongs, is gone."""
    gone = "import os; os.makedirs('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
    done = patched.run("-c", gone + WORK, PATCHKIT_JOURNAL="of-run")
    assert_works(done)
    assert "the current folder, which is gone" in done.stderr
