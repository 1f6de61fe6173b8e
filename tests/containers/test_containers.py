"""What a container does to a process, by the kernel's namespaces: `make containers`, as root.

Each pod has a read-only root, pids and a host name of its own, a small /dev/shm, and a user who is
in no `/etc/passwd` and has no home.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from support import packages
from support.packages import TIMEOUT, World, row

pytestmark = pytest.mark.processes

world = packages.world

POD = """
hostname app
mount -t tmpfs -o size=64k none /dev/shm
mount --bind "$PATCHKIT_TEST_FOLDER" "$PATCHKIT_TEST_FOLDER"
mount -o remount,bind,ro /
exec unshare --user --map-user=12345 --map-group=12345 "$@"
"""
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--uts")
MAIN = """
import os, sys, up.mod
print(os.getpid(), up.mod.function(), flush=True)
"""
SERVE = """
import multiprocessing, os, sys
import patchkit.auto, up.mod
def core():
    import up.mod
    up.mod.function()
    print("core", os.getpid(), flush=True)
    sys.stdin = open(0)
if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=core, name="EngineCore")
    child.start()
    child.join()
    print("main", os.getpid(), flush=True)
    sys.stdin.readline()
"""
AHEAD = """
import time
by_the_kernel = time.time
time.time = lambda: by_the_kernel() + 3600
"""
PATCHKIT = (sys.executable, "-m", "patchkit")


@pytest.fixture
def pack(world: World) -> World:
    """One patch of one function, and a folder that pods may write to."""
    world.module("up.mod", "def function(): return 'old'\n")
    replace = "Replace('up.mod:function', by='function')"
    body = "def function(): return 'new'\n"
    world.pack(row("p", "patch_p", replace, roles="set(Role)"), patch_p=body)
    (world.folder / "main.py").write_text(MAIN)
    (world.folder / "serve.py").write_text(SERVE)
    world.journal.mkdir(exist_ok=True)
    return world


def environment(pack: World, **variables: str | None) -> dict[str, str]:
    """The variables of a pod; None takes one away."""
    repository = os.environ.get("PYTHONPATH", "")
    environ: dict[str, str | None] = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join([str(pack.folder), os.getcwd(), repository]),  # noqa: PTH109
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATCHKIT_PATCHES": "pack",
        "PATCHKIT_VERSIONS": "up=1.0",
        "PATCHKIT_JOURNAL": str(pack.journal),
        "PATCHKIT_TEST_FOLDER": str(pack.journal),
        **variables,
    }
    return {name: value for name, value in environ.items() if value is not None}


def started(
    pack: World, *command: str, **variables: str | None
) -> subprocess.Popen[str]:
    """Start a command as pid 1 of a pod."""
    return subprocess.Popen(
        [*UNSHARE, "--mount-proc", "sh", "-ec", POD, "pod", *command],
        cwd=pack.folder,
        env=environment(pack, **variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(
    pack: World, *command: str, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """Run a command as pid 1 of a pod."""
    with started(pack, *command, **variables) as pod:
        out, err = pod.communicate(timeout=TIMEOUT)
    return subprocess.CompletedProcess(command, pod.returncode, out, err)


def picture(pack: World) -> dict[str, Any]:
    """What `status` says, asked outside of all pods."""
    done = subprocess.run(
        [*PATCHKIT, "status", str(pack.journal), "--format", "json"],
        cwd=pack.folder,
        env=environment(pack),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_files_are_read_only_and_the_user_has_no_name(pack: World) -> None:
    """Every command that a pod uses works there: `run`, `status`, `check`, `list`, `doctor`."""
    done = ran(pack, *PATCHKIT, "run", "--", sys.executable, "main.py")
    assert (done.returncode, done.stdout.split()[1]) == (0, "new"), done.stderr
    for command in (
        ("status", str(pack.journal)),
        ("list",),
        ("doctor",),
        ("check", "--here"),
    ):
        done = ran(pack, *PATCHKIT, *command)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode in {0, 1}, done.stderr
        assert {"p", "pack"} & set(done.stdout.split())


def test_a_run_without_a_folder_for_its_journal_says_so(pack: World) -> None:
    """Without a folder for temporary files, `run` names the variable that helps."""
    command = (*PATCHKIT, "run", "--", sys.executable, "main.py")
    done = ran(pack, *command, PATCHKIT_JOURNAL=None)
    assert (done.returncode, done.stdout) == (2, "")
    assert "set PATCHKIT_JOURNAL to a folder that can be written" in done.stderr
    done = ran(pack, *command, PATCHKIT_JOURNAL="/nowhere/journal")
    assert (done.returncode, done.stdout.split()[1]) == (0, "new")
    assert "PATCHKIT_JOURNAL=/nowhere/journal: cannot be written" in done.stderr


def test_the_bootstrap_says_what_else_there_is(pack: World) -> None:
    """Nothing is written into site-packages that are read-only, and two other ways are named."""
    done = ran(pack, *PATCHKIT, "bootstrap", "install")
    assert done.returncode == 2
    assert "Read-only file system" in done.stderr
    assert "patchkit run -- COMMAND" in done.stderr


def test_a_required_patch_fails_in_pid_1(pack: World) -> None:
    """The exit code tells, though the program goes on after the error."""
    replace = "Replace('up.mod:gone', by='function')"
    body = "def function(): ...\n"
    pack.pack(row("p", "patch_p", replace), name="bad", patch_p=body)
    code = """
import patchkit.auto, os
try:
    import up.mod
except Exception:
    print(os.getpid(), flush=True)
"""
    done = ran(pack, sys.executable, "-c", code, PATCHKIT_PATCHES="bad")
    assert (done.returncode, done.stdout) == (70, "1\n"), done.stderr
    assert "required patch p" in done.stderr


@pytest.mark.parametrize(
    ("handler", "code"),
    [("", 143), ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))", 3)],
)
def test_the_signal_that_ends_a_pod_reaches_the_command(
    pack: World, handler: str, code: int
) -> None:
    """`run` is pid 1, passes SIGTERM on, and ends with the exit code of the command."""
    program = f"""
import os, signal, sys
{handler}
print("ready", flush=True)
while True:
    signal.pause()
"""
    command = (*PATCHKIT, "run", "--", sys.executable, "-c", program)
    with started(pack, *command) as pod:
        assert pod.stdout is not None
        assert pod.stdout.readline() == "ready\n"
        # What the kubelet does: SIGTERM to the first process of the container.
        subprocess.run(["kill", "-TERM", str(_only_child(pod.pid))], check=True)
        pod.communicate(timeout=TIMEOUT)
    assert pod.returncode == code


def _only_child(pid: int) -> int:
    """The child of `unshare`, which is pid 1 of the pod."""
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:  # noqa: PTH123 - /proc
        (child,) = file.read().split()
    return int(child)


def test_two_pods_and_a_restart_with_one_folder(pack: World) -> None:
    """With equal host names and pids, each process is told apart, and has its own parent."""
    command = (sys.executable, "serve.py")
    with started(pack, *command) as first, started(pack, *command) as second:
        for pod in (first, second):
            assert pod.stdout is not None
            pid_of_core = pod.stdout.readline().split()[1]
            assert pod.stdout.readline() == "main 1\n"
        told = picture(pack)
        for pod in (first, second):
            pod.communicate("\n", timeout=TIMEOUT)
    third = ran(pack, *command)
    assert third.stdout.splitlines()[-1] == "main 1"
    for picture_now, pods in ((told, 2), (picture(pack), 3)):
        processes = picture_now["processes"]
        mains = [process for process in processes if process["roles"] == ["main"]]
        cores = [process for process in processes if process["roles"] != ["main"]]
        assert {process["host"] for process in processes} == {"app"}
        assert [process["pid"] for process in mains] == [1] * pods
        assert pid_of_core in {str(process["pid"]) for process in cores}
        began = [process["started"] for process in mains]
        assert sorted(core["parent"]["started"] for core in cores) == sorted(began)
        assert picture_now["findings"] == []


def test_a_container_beside_the_engine_sees_no_pids_of_it(pack: World) -> None:
    """`status` in another container of the pod does not know whether processes run."""
    with started(pack, sys.executable, "serve.py") as pod:
        assert pod.stdout is not None
        pod.stdout.readline()
        assert pod.stdout.readline() == "main 1\n"
        beside = ran(pack, *PATCHKIT, "status", str(pack.journal), "--format", "json")
        pod.communicate("\n", timeout=TIMEOUT)
    told = json.loads(beside.stdout)
    assert {process["alive"] for process in told["processes"]} == {None}
    assert told["findings"] == []


def probed(
    pack: World, pod: subprocess.Popen[str], *options: str, **variables: str | None
) -> subprocess.CompletedProcess[str]:
    """What a probe of the container says: a command that the kubelet starts in its namespaces."""
    inside = ["nsenter", "--target", str(_only_child(pod.pid)), "-m", "-p", "-u"]
    command = [*PATCHKIT, "status", str(pack.journal), "--running", *options]
    return subprocess.run(
        [*inside, f"--wdns={pack.folder}", *command],
        env=environment(pack, **variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT,
    )


def test_a_probe_asks_about_the_container_that_runs(pack: World) -> None:
    """What failed in the container before a restart does not count, nor does what never began."""
    replace = "Replace('up.mod:gone', by='function')"
    body = "def function(): ...\n"
    pack.pack(row("p", "patch_p", replace), name="bad", patch_p=body)
    code = "import patchkit.auto, up.mod"
    failed = ran(pack, sys.executable, "-c", code, PATCHKIT_PATCHES="bad")
    assert failed.returncode != 0
    assert [finding["kind"] for finding in picture(pack)["findings"]] == ["failed"]
    with started(pack, sys.executable, "serve.py") as pod:
        assert pod.stdout is not None
        pod.stdout.readline()
        assert pod.stdout.readline() == "main 1\n"
        well = probed(pack, pod, "--expect", "main")
        early = probed(pack, pod, "--expect", "worker")
        off = probed(pack, pod, "--expect", "worker", PATCHKIT="0")
        pod.communicate("\n", timeout=TIMEOUT)
    assert well.returncode == 0, well.stderr
    assert early.returncode == 1
    assert "no process of role worker yet" in early.stdout
    assert off.returncode == 0
    assert "PATCHKIT is 0 here" in off.stderr


def test_a_pod_whose_clock_is_ahead(pack: World) -> None:
    """Its processes are as old as they are, and a note says so.

    No kernel has a wall clock for each container, so that of a node is simulated by `time.time`.
    """
    ahead = pack.folder / "ahead"
    ahead.mkdir()
    (ahead / "sitecustomize.py").write_text(AHEAD)
    path = f"{ahead}{os.pathsep}{environment(pack)['PYTHONPATH']}"
    serve = (sys.executable, "serve.py")
    with (
        started(pack, *serve) as first,
        started(pack, *serve, PYTHONPATH=path) as second,
    ):
        for pod in (first, second):
            assert pod.stdout is not None
            pod.stdout.readline()
            assert pod.stdout.readline() == "main 1\n"
        told = picture(pack)
        for pod in (first, second):
            pod.communicate("\n", timeout=TIMEOUT)
    began = [process["started"] for process in told["processes"]]
    assert max(began) - min(began) < TIMEOUT
    assert told["findings"] == []
    (note,) = told["notes"]
    assert "app 3,600 s ahead" in note or "app 3,599 s ahead" in note
