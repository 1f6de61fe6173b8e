"""`patchkit status`: what is told of real processes and of journals."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from analysis.status.told import engine, journal, patch, role
from support import packages
from support.packages import World, row

from cli import journaled
from cli.journaled import answered
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
def test_real_processes(
    world: World, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    """The same tree, patches and digests, however the processes were started."""
    world.module("up.mod", "def function(): return 'old'\n")
    roles = "{Role.ENGINE_CORE, Role.WORKER}"
    replace = "Replace('up.mod:function', by='function')"
    new = "def function(): return 'new'\n"
    world.pack(row("one", "patch_one", replace, roles=roles), patch_one=new)
    (world.folder / "script.py").write_text(SCRIPT)
    done = world.run("script.py", method, PATCHKIT_ONLY="one")
    assert done.returncode == 0, done.stderr
    data = answered(capsys, str(world.journal))
    top, core, *workers = data["processes"]
    assert [one["roles"] for one in data["processes"]] == [
        ["main"],
        ["engine-core"],
        ["worker"],
        ["worker"],
    ]
    assert [one["rank"] for one in data["processes"]] == [None, None, 0, 1]
    assert [one["parent"]["pid"] for one in (core, *workers)] == [
        top["pid"],
        *[core["pid"]] * 2,
    ]
    own = [
        [patch for patch in one["patches"] if patch["name"] == "one"]
        for one in (core, *workers)
    ]
    assert [patch["status"] for (patch,) in own] == ["applied"] * 3
    assert workers[0]["digest"] == workers[1]["digest"]
    assert data["agreement"] == {"main": True, "engine-core": True, "worker": True}
    assert data["findings"] == []


@pytest.mark.processes
def test_what_is_not_for_a_process_is_skipped(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another role, a distribution that is not there, a range, a variable: never `armed`."""
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
    stand = {one["name"]: (one["status"], one["reason"]) for one in process["patches"]}
    expected = {
        "one": ("applied", None),
        "absent": ("skipped", "nowhere is not installed"),
        "other-role": ("skipped", "for worker"),
        "variable": ("skipped", "WANTED is not set"),
        "waits": ("armed", "no import of its target has been seen"),
    }
    assert {name: stand[name] for name in expected} == expected


@pytest.mark.processes
def test_edits_are_layers(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Two patches that edit one function, and one that adds a field: the targets are told."""
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
    layers = {one["name"]: one["layers"] for one in process["patches"]}
    assert layers["one"] == layers["two"] == {"up.mod:function": ["one", "two"]}


def test_the_keys_of_the_contract(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs rely on them; more may be added."""
    data = answered(capsys, str(written(*engine())))
    assert {"processes", "agreement"} <= set(data)
    keys = {"host", "pid", "ppid", "roles", "rank", "patches", "digest"}
    assert all(keys <= set(one) for one in data["processes"])
    worker = data["processes"][-1]
    assert (worker["host"], worker["pid"], worker["roles"]) == ("node", 31, ["worker"])
    patches = {one["name"]: (one["status"], one["reason"]) for one in worker["patches"]}
    assert patches == {
        "one": ("armed", "no import of its target has been seen"),
        "two": ("applied", None),
    }


def test_the_directory_of_the_environment(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PATCHKIT_JOURNAL, where no directory is named."""
    monkeypatch.setenv("PATCHKIT_JOURNAL", str(written(*engine())))
    assert len(answered(capsys)["processes"]) == 4


def test_a_finding_is_exit_code_1(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A failure, with process and cause."""
    place = written(journal(7, role("main"), patch("one", "failed", "ValueError: no")))
    (finding,) = answered(capsys, str(place), code=1)["findings"]
    assert finding == {
        "kind": "failed",
        "host": "node",
        "pid": 7,
        "message": "one: ValueError: no",
    }


def test_nothing_there_is_a_finding(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nobody has written, nothing is patched."""
    data = answered(capsys, str(written()), code=1)
    assert [finding["kind"] for finding in data["findings"]] == ["empty"]
    assert main(["status", str(written())]) == 1
    assert "nothing is patched there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "PATCHKIT_JOURNAL is not set"),
        (("/nowhere",), "found no such directory"),
        (("/", "--watch", "--format", "json"), "found --format json with --watch"),
        (("--ray", "nonsense"), "--ray"),
    ],
)
def test_wrong_use(
    argv: tuple[str, ...],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line on stderr, exit code 2."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["status", *argv]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert (said.err.count("\n"), said.out) == (1, "")


def test_a_broken_setting_is_wrong_use(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with every command."""
    monkeypatch.setenv("PATCHKIT", "perhaps")
    assert main(["status"]) == 2
    assert "expected one of" in capsys.readouterr().err


def test_ray_is_not_imported_without_need(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Most have no cluster."""
    there = "patchkit.analysis.status.ray_nodes" in sys.modules
    answered(capsys, str(written(*engine())))
    assert there or "patchkit.analysis.status.ray_nodes" not in sys.modules
