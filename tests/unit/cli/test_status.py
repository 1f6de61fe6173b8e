"""`patchkit status`: what is told of real processes and of journals."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import NOW, child, engine, journal, line, patch, role
from support import packages
from support.packages import TIMEOUT, World, row

from cli import journaled
from cli.journaled import answered
from patchkit.analysis.status.process_status import PatchStatus
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

written = journaled.written

world = packages.world
SCRIPT = """
import multiprocessing, sys
import patchkit.auto

def worker():
    from up.mod import function
    assert function() == "new"

def core():
    from up.mod import function
    assert function() == "new"
    run(worker, "VllmWorker-0", "VllmWorker-1")

def run(target, *names):
    context = multiprocessing.get_context(sys.argv[1])
    processes = [context.Process(target=target, name=name) for name in names]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0

if __name__ == "__main__":
    run(core, "EngineCore")
"""


@pytest.mark.processes
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_real_processes_are_shown_however_they_were_started(
    world: World, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """`status` shows tree, patches and digests of processes alike, whether forked or spawned."""
    world.module("up.mod", "def function(): return 'old'\n")
    roles = "{Role.ENGINE_CORE, Role.WORKER}"
    replace = "Replace('up.mod:function', by='function')"
    new = "def function(): return 'new'\n"
    world.pack(row("one", "patch_one", replace, roles=roles), patch_one=new)
    (world.folder / "script.py").write_text(SCRIPT)
    done = world.run("script.py", method, PATCHKIT_ONLY="one")
    assert done.returncode == 0, done.stderr
    data = answered(capsys, str(world.journal))
    processes = data["processes"]
    top, core, *workers = processes
    assert [process["roles"] for process in processes] == [
        ["main"],
        ["engine-core"],
        ["worker"],
        ["worker"],
    ]
    assert [process["rank"] for process in processes] == [None, None, 0, 1]
    assert core["parent"]["pid"] == top["pid"]
    assert [worker["parent"]["pid"] for worker in workers] == [core["pid"]] * 2
    for process in (core, *workers):
        (own,) = [patch for patch in process["patches"] if patch["name"] == "one"]
        assert own["status"] == "applied"
    assert workers[0]["digest"] == workers[1]["digest"]
    assert data["agreement"] == {"main": True, "engine-core": True, "worker": True}
    assert data["findings"] == []


@pytest.mark.processes
def test_what_is_not_for_a_process_is_skipped(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch that is not for a process is `skipped` with the reason, and never `armed`."""
    world.module("up.mod", "def function(): return 'old'\n")
    replace = "Replace('up.mod:function', by='function')"
    later = "Replace('up.never:function', by='function')"
    world.pack(
        row("one", "patch_one", replace),
        row("absent", "patch_one", later, requires="('nowhere>=1',)"),
        row("other-role", "patch_one", later, roles="{Role.WORKER}"),
        row("variable", "patch_one", later, env="'WANTED=1'"),
        row("waits", "patch_one", later),
        patch_one="def function(): return 'new'\n",
    )
    (world.folder / "script.py").write_text("import patchkit.auto, up.mod\n")
    assert world.run("script.py").returncode == 0
    (process,) = answered(capsys, str(world.journal))["processes"]
    states = {
        patch["name"]: (patch["status"], patch["reason"])
        for patch in process["patches"]
    }
    expected = {
        "one": ("applied", None),
        "absent": ("skipped", "nowhere is not installed"),
        "other-role": ("skipped", "for worker"),
        "variable": ("skipped", "WANTED is not set"),
        "waits": ("armed", "no import of its target has been seen"),
    }
    assert {name: states[name] for name in expected} == expected


@pytest.mark.processes
def test_edits_are_layers(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Two patches that edit one function are both layers of that target, in their order."""
    world.module("up.mod", "def function():\n    a = 1\n    b = 2\n    return a + b\n")
    world.pack(
        row("one", "patch_one", "Edit('up.mod:function', old='a = 1', new='a = 10')"),
        row("two", "patch_one", "Edit('up.mod:function', old='b = 2', new='b = 20')"),
        patch_one="",
    )
    code = (
        "import patchkit.auto\nfrom up.mod import function\nassert function() == 30\n"
    )
    (world.folder / "script.py").write_text(code)
    done = world.run("script.py")
    assert done.returncode == 0, done.stderr
    (process,) = answered(capsys, str(world.journal))["processes"]
    layers = {patch["name"]: patch["layers"] for patch in process["patches"]}
    assert layers["one"] == layers["two"] == {"up.mod:function": ["one", "two"]}


def test_json_keeps_the_keys_of_the_contract(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON has the keys that programs rely on; more may be added."""
    data = answered(capsys, str(written(*engine())))
    assert {"processes", "agreement"} <= set(data)
    keys = {"host", "pid", "ppid", "roles", "rank", "patches", "digest"}
    assert all(keys <= set(process) for process in data["processes"])
    worker = data["processes"][-1]
    assert (worker["host"], worker["pid"], worker["roles"]) == ("node", 31, ["worker"])
    patches = {
        patch["name"]: (patch["status"], patch["reason"]) for patch in worker["patches"]
    }
    assert patches == {
        "one": ("armed", "no import of its target has been seen"),
        "two": ("applied", None),
    }


def test_the_directory_of_the_environment_is_read(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no directory is named, `status` reads that of PATCHKIT_JOURNAL."""
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(written(*engine())))
    assert len(answered(capsys)["processes"]) == 4


def test_a_finding_is_exit_code_1(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch that failed is a finding with process and cause, and `status` exits with 1."""
    place = written(journal(7, role("main"), patch("one", "failed", "ValueError: no")))
    (finding,) = answered(capsys, str(place), code=1)["findings"]
    assert finding == {
        "kind": "failed",
        "host": "node",
        "pid": 7,
        "message": "one: ValueError: no",
    }


def test_no_journal_is_a_finding(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory without journals is a finding, as nothing is patched there."""
    data = answered(capsys, str(written()), code=1)
    assert [finding["kind"] for finding in data["findings"]] == ["empty"]
    assert main(["status", str(written())]) == 1
    assert "nothing is patched there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "PATCHKIT_JOURNAL is not set"),
        (("/nowhere",), "found no such directory"),
        (("",), "found an empty DIR"),
        (("/", "--watch", "--format", "json"), "found --format json and --watch"),
        (
            ("/", "--format", "prometheus", "--patch", "p"),
            "found --format prometheus and --patch",
        ),
        (("/", "--port", "9", "--watch"), "found --watch and --port"),
        (("--ray", "nonsense"), "--ray"),
    ],
)
def test_wrong_use_is_one_line_and_2(
    argv: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Wrong use of `status` is one line on stderr and exit code 2."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["status", *argv]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_broken_setting_is_wrong_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable of patchkit's that has no valid value ends `status` with 2."""
    monkeypatch.setenv("PATCHKIT", "perhaps")
    assert main(["status"]) == 2
    assert "expected one of" in capsys.readouterr().err


def test_ray_is_not_imported_without_need(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`status` of a directory does not import what asks the nodes of a Ray cluster."""
    name = "patchkit.analysis.status.ray_nodes"
    monkeypatch.delitem(sys.modules, name, raising=False)
    answered(capsys, str(written(*engine())))
    assert name not in sys.modules


def test_a_hidden_patch_is_told_as_such_and_not_as_a_mystery(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Remarks, JSON, `--patch` and `--unused` name the patch whose replacement hides it."""
    facts = {"module": "m", "layers": {"m:f": ["one", "two"]}}
    hidden = {"m:f": {"one": "two"}}
    place = written(
        journal(
            7,
            role("main"),
            patch("one", "applied", **facts),
            patch("two", "applied", **facts),
            patch("one", "applied", hidden=hidden, **facts),
            line("in-effect", patches={"one": {"m:f": "never called"}}),
        )
    )
    (process,) = answered(capsys, str(place))["processes"]
    by_name = {patch["name"]: patch["hidden"] for patch in process["patches"]}
    assert by_name == {"one": hidden, "two": {}}
    assert main(["status", str(place)]) == 0
    out = capsys.readouterr().out
    assert "hidden under patch two at m:f" in out
    assert "never called" not in out
    assert main(["status", str(place), "--unused"]) == 0
    out = capsys.readouterr().out
    assert "hidden under patch two" in out
    assert "never called" not in out
    assert main(["status", str(place), "--patch", "one"]) == 0
    assert "under patch two" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--patch", "one"], ["--unused"]])
def test_many_targets_of_a_patch_are_gone_through_once(
    written: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    """Not once for each of them, which takes minutes for 20,000."""
    layers = {f"m:f{number}": ["one"] for number in range(100)}
    uncalled = {"one": dict.fromkeys(layers, "never called")}
    place = written(
        journal(
            7,
            role("main"),
            patch("one", "applied", module="m", layers=layers),
            line("in-effect", patches=uncalled),
        )
    )
    asked: list[PatchStatus] = []

    def counted(status: PatchStatus) -> list[str]:
        asked.append(status)
        return list(layers)

    monkeypatch.setattr(PatchStatus, "targets", property(counted))
    assert main(["status", str(place), *words]) == 0
    assert len(asked) < len(layers)


def test_a_wrapper_that_nobody_can_read_is_told(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a finding, in the JSON of its patch, and on the page of the patch."""
    place = written(
        journal(
            7,
            role("main"),
            patch("one", "applied", module="m", layers={"m:f": ["one"]}),
            line("wrapped", name="one", target="m:f", by="them", unsure=True),
        )
    )
    told = answered(capsys, str(place), code=1)
    (finding,) = told["findings"]
    assert finding["kind"] == "unsure"
    ((stranger,),) = (
        patch["strangers"]
        for patch in told["processes"][0]["patches"]
        if patch["name"] == "one"
    )
    assert stranger == {"target": "m:f", "by": "them", "wraps": True, "unsure": True}
    assert main(["status", str(place), "--patch", "one"]) == 1
    assert "cannot tell whether" in capsys.readouterr().out


def test_unused_tells_of_patches_for_the_wrong_role(
    capsys: pytest.CaptureFixture[str], written: Callable[..., Path]
) -> None:
    """What is imported only where the patch is not for is told below what was never called."""
    roles = {"one": ["main"], "two": ["main"]}
    nothing = line("imported", modules=[], patches={})
    imported = line("imported", modules=["vllm.a"], patches={"one": ["vllm.a"]})
    late = line("verified", time=NOW + 600)
    started = child(30, "VllmWorker-0", "worker", 3)
    place = written(
        journal(10, role("main"), started, nothing, late, roles=roles),
        journal(30, role("worker"), imported, at=3, roles=roles, ppid=10),
    )
    assert main(["status", str(place), "--unused"]) == 1
    assert "misplaced: one is for main" in capsys.readouterr().out


@pytest.mark.processes
@pytest.mark.parametrize(("required", "code"), [("True", 1), ("False", 0)])
def test_a_probe_stands_what_the_row_stands(
    world: World, capsys: pytest.CaptureFixture[str], required: str, code: int
) -> None:
    """A patch that is not required may fail: the program goes on, and so does its pod."""
    world.module("up.mod", "")
    gone = "Replace('up.mod:gone', by='function')"
    world.pack(
        row("p", "patch_p", gone, required=required), patch_p="def function(): ...\n"
    )
    script = """
import os, sys, patchkit.auto
from patchkit.errors import PatchkitError
try:
    import up.mod
except PatchkitError:
    pass
print(flush=True)
sys.stdin.readline()
"""
    (world.folder / "script.py").write_text(script)
    with subprocess.Popen(
        [sys.executable, "script.py"],
        env=world.environ(PATCHKIT_ONLY="p"),
        cwd=world.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert main(["status", str(world.journal)]) == 1
        assert main(["status", str(world.journal), "--running"]) == code
        process.communicate(timeout=TIMEOUT)
    assert "p: TargetError" in capsys.readouterr().out


def test_a_probe_waits_for_roles_and_asks_nothing_where_patchkit_is_off(
    written: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--expect` fails until there is a process of the role; with PATCHKIT=0, a probe passes."""
    core, *workers = engine(workers=1)[1:]
    folder = str(written(core))
    assert main(["status", folder, "--expect", "worker"]) == 1
    assert "no process of role worker yet" in capsys.readouterr().out
    written(*workers)
    assert (
        main(["status", folder, "--expect", "engine-core", "--expect", "worker"]) == 0
    )
    command = ["status", folder, "--running", "--expect", "worker"]
    assert main(command) == 1
    monkeypatch.setenv("PATCHKIT", "0")
    assert main(command) == 0
    assert "PATCHKIT is 0 here" in capsys.readouterr().err
