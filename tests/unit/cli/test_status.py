from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

import packages
import pytest
from packages import World, row
from status.told import child, engine, journal, line, patch, role

from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write journals into a directory."""

    def write(*journals: dict[str, bytes]) -> Path:
        place = tmp_path / "journal"
        place.mkdir(exist_ok=True)
        for one in journals:
            for name, data in one.items():
                (place / name).write_bytes(data)
        return place

    return write


def answered(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> dict[str, Any]:
    """What `status --format json` says; checks the exit code on the way."""
    assert main(["status", "--format", "json", *argv]) == code
    out: dict[str, Any] = json.loads(capsys.readouterr().out)
    return out


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_real_processes(world: World, capsys: pytest.CaptureFixture[str], method: str) -> None:
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
    assert [one["parent"]["pid"] for one in (core, *workers)] == [top["pid"], *[core["pid"]] * 2]
    own = [
        [patch for patch in one["patches"] if patch["name"] == "one"] for one in (core, *workers)
    ]
    assert [patch["status"] for (patch,) in own] == ["applied"] * 3
    assert workers[0]["digest"] == workers[1]["digest"]
    assert data["agreement"] == {"main": True, "engine-core": True, "worker": True}
    assert data["findings"] == []


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


def test_edits_are_layers(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Two patches that edit one function, and one that adds a field: the targets are told."""
    world.module("up.mod", "def function():\n    a = 1\n    b = 2\n    return a + b\n")
    world.pack(
        row("one", "patch_one", "Edit('up.mod:function', old='a = 1', new='a = 10')"),
        row("two", "patch_one", "Edit('up.mod:function', old='b = 2', new='b = 20')"),
        patch_one="",
    )
    code = "import patchkit.auto\nfrom up.mod import function\nassert function() == 30\n"
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
        (("/", "--watch", "--format", "json"), "--watch is for a person"),
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


def page(capsys: pytest.CaptureFixture[str], place: Path) -> str:
    """What a person sees, in 80 columns."""
    main(["status", str(place)])
    out = capsys.readouterr().out
    assert all(len(text) <= 80 for text in out.splitlines())
    return out


def test_the_tree_is_drawn(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Main, engine core, workers with their ranks; the patches by role; agreement."""
    monkeypatch.setenv("COLUMNS", "80")
    out = page(capsys, written(*engine()))
    lines = [text.rstrip() for text in out.splitlines()]
    begin = next(number for number, text in enumerate(lines) if text.startswith("process"))
    assert [text[:16].rstrip() for text in lines[begin + 1 : begin + 5]] == [
        "main  script.py",
        "└─ engine-core",
        "   ├─ worker 0",
        "   └─ worker 1",
    ]
    assert "agreement  main yes, engine-core yes, worker yes" in out
    assert "applied 1, armed 1" not in out


def test_many_alike_are_one_line(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thousand ranks fit on a page, and who is different stands out."""
    monkeypatch.setenv("COLUMNS", "80")
    journals = engine(40)
    spoilt = next(iter(journals[20]))
    journals[20][spoilt] += patch("two", "failed", "ValueError: no")
    out = page(capsys, written(*journals))
    assert "worker 0-17 ×18" in out  # noqa: RUF001
    assert "worker 18  " in out
    assert "worker 19-39 ×21" in out  # noqa: RUF001
    assert "applied 39, failed 1" in out
    assert "worker no" in out


@pytest.mark.parametrize("form", ["table", "json"])
def test_a_long_chain_of_parents(written: Callable[..., Path], world: World, form: str) -> None:
    """Two thousand journals that each name another as the parent are only a deep tree."""
    chain = [journal(10 + n, role("main"), at=n, ppid=9 + n) for n in range(2000)]
    place = written(*chain)
    done = world.run("-m", "patchkit", "status", str(place), "--format", form)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2009" in done.stdout


def test_a_process_that_is_its_own_child(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A journal that says so is read to its end; the process is shown once."""
    place = written(journal(13, role("main"), child(13, "x", "main")))
    assert main(["status", str(place)]) == 0
    assert capsys.readouterr().out.count("main  script.py") == 1


def test_helpers_are_named(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that another one started without `multiprocessing` shows its command line."""
    helper = journal(8, role("main"), at=1, ppid=7, argv=["-m", "vllm.registry"])
    assert main(["status", str(written(journal(7, role("main")), helper))]) == 0
    assert "main  -m vllm.registry" in capsys.readouterr().out


def test_texts_of_others_stay_on_their_line(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error of several lines, and what a terminal would obey."""
    monkeypatch.setenv("COLUMNS", "80")
    failed = patch("one", "failed", "Error: a\n  b\x1b[2J")
    out = page(capsys, written(journal(7, role("main"), failed)))
    assert "Error: a b\\x1b[2J" in out


def test_watch_ends_with_the_main_process(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The last picture stays, and the exit code is that of the findings."""
    host = os.uname().nodename
    place = written(journal(7, role("main"), host=host, began=1))
    assert main(["status", "--watch", str(place)]) == 0
    said = capsys.readouterr()
    assert "ended" in said.out
    assert said.err == "patchkit: the main process has ended\n"


def test_watch_ends_when_the_user_says_so(
    written: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Waits for the first journal, goes on while the process runs, and an interrupt is no error."""
    place = written()
    steps = iter([lambda: written(*mine()), lambda: None, interrupt])
    monkeypatch.setattr("patchkit.cli.status.time.sleep", lambda _: next(steps)())
    assert main(["status", "--watch", str(place)]) == 0
    assert "main" in capsys.readouterr().out


def mine() -> list[dict[str, bytes]]:
    """The journal of a process that runs: this one's parent."""
    pid = os.getppid()
    return [journal(pid, role("main"), host=os.uname().nodename, began=None)]


def interrupt() -> None:
    raise KeyboardInterrupt


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
    there = "patchkit.status.ray_nodes" in sys.modules
    answered(capsys, str(written(*engine())))
    assert there or "patchkit.status.ray_nodes" not in sys.modules


# -- copies ----------------------------------------------------------------------------------------

COPIES = [
    patch(
        "one",
        "applied",
        module="m",
        rebound=["a:f", "b:f"],
        out_of_reach=["c:g (default of x)"],
        layers={"m:f": ["one", "two"]},
        untraced={"m:K": "a int"},
    ),
]


def test_copies_are_counted_and_one_patch_is_told_in_full(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The page says how many; `--patch` says which, and JSON has everything."""
    place = str(written(journal(7, role("main"), *COPIES), journal(8, role("worker"), *COPIES)))
    main(["status", place])
    assert "2 repointed, 1 out of reach" in capsys.readouterr().out
    assert main(["status", place, "--patch", "one"]) == 0
    out = capsys.readouterr().out
    for words in ("m:f  one < two", "a:f", "b:f", "c:g (default of x)", "m:K: a int"):
        assert out.count(words) == 1
    (one, _) = answered(capsys, place)["processes"][0]["patches"]
    assert one["layers"] == {"m:f": ["one", "two"]}
    assert one["rebound"] == ["a:f", "b:f"]


def test_where_nothing_was_repointed_there_is_no_column(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody has is not shown."""
    main(["status", str(written(journal(7, role("main"), patch("one", "applied"))))])
    assert "copies" not in capsys.readouterr().out


def test_the_last_look_of_a_process(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """How long ago it looked at what it had applied; nothing where it never has."""
    now = time.time()
    host, pid = os.uname().nodename, os.getppid()
    looked = line("verified", time=now - 40)
    running = journal(pid, role("main"), looked, host=host, began=None)
    place = str(written(running, journal(8, role("main"))))
    looks = {one["pid"]: one["verified"] for one in answered(capsys, place)["processes"]}
    assert looks[8] is None
    assert 40 <= looks[pid] < 100
    main(["status", place])
    assert re.search(r"running +4\d s ago", capsys.readouterr().out)


def test_a_change_that_was_left_out(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--patch` says which target, and why."""
    left = line("left-out", name="one", target="m:g", reason="no such kernel here")
    place = str(written(journal(7, role("main"), left, *COPIES)))
    assert main(["status", place, "--patch", "one"]) == 0
    assert "m:g: no such kernel here" in capsys.readouterr().out


def test_a_patch_that_failed_or_was_skipped(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--patch` names the processes with the cause of each."""
    failed = journal(7, role("main"), patch("one", "failed", "ValueError: no"))
    skipped = journal(8, role("worker"), patch("one", "skipped", "ray is not installed"))
    assert main(["status", str(written(failed, skipped)), "--patch", "one"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"main +7 +failed +ValueError: no", out)
    assert re.search(r"worker +8 +skipped +ray is not installed", out)


def test_a_patch_that_nobody_knows(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names those that there are."""
    place = str(written(journal(7, role("main"))))
    assert main(["status", place, "--patch", "three"]) == 2
    assert "found 'three', expected a patch's name: one, two" in capsys.readouterr().err


def test_what_was_not_reviewed_is_a_remark_and_no_finding(
    written: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """The page says that there is something, `--patch` what and where, JSON all of it."""
    told = line("unreviewed", name="one", reason="f has another source")
    applied = patch("one", "applied")
    place = str(written(journal(7, role("main"), told, applied), journal(8, role("main"), applied)))
    assert main(["status", place]) == 0
    (row,) = [text for text in capsys.readouterr().out.splitlines() if text.startswith("one ")]
    assert row.endswith("differs from the review, see --patch")
    assert main(["status", place, "--patch", "one"]) == 0
    out = capsys.readouterr().out
    assert "not reviewed  f has another source  in 7" in out
    processes = answered(capsys, place)["processes"]
    assert [one["patches"][0]["unreviewed"] for one in processes] == ["f has another source", ""]
