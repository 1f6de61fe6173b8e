from __future__ import annotations

import importlib
import json
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import World, row

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.lookout import Verifier
from runtime.process import lookouts
from runtime.process.lookouts import BY, SECOND, WRAP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

world = packages.world
upstream = lookouts.upstream


@pytest.fixture
def verifier() -> Iterator[Callable[..., Verifier]]:
    made: list[Verifier] = []

    def make(look: Callable[[], None], seconds: float = 0.001) -> Verifier:
        made.append(Verifier(look, seconds, lambda _: False))
        return made[-1]

    yield make
    for one in made:
        one.stop()


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


# -- the thread -----------------------------------------------------------------------------------


def test_it_looks_until_it_is_stopped(verifier: Callable[..., Verifier]) -> None:
    """Again and again, once however often it is started; nothing is left of it."""
    looked = threading.Semaphore(0)
    one = verifier(looked.release)
    for _ in range(3):
        one.start()
    assert names().count("patchkit-verify") == 1
    assert all(looked.acquire(timeout=10) for _ in range(3))
    one.stop()
    one.stop()
    assert "patchkit-verify" not in names()


def test_zero_is_never(verifier: Callable[..., Verifier]) -> None:
    """No thread is begun."""
    verifier(lambda: None, 0).start()
    assert "patchkit-verify" not in names()


def test_around_a_fork(verifier: Callable[..., Verifier]) -> None:
    """It is gone before the fork, and looks again on both sides."""
    looked = threading.Semaphore(0)
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir())) if tasks.exists() else 0
    one = verifier(looked.release)
    one.start()
    one.before_fork()
    assert len(list(tasks.iterdir())) <= before if tasks.exists() else True
    assert "patchkit-verify" not in names()
    one.after_fork(in_child=False)
    while looked.acquire(blocking=False):
        pass
    assert looked.acquire(timeout=10)
    one.before_fork()
    one.after_fork(in_child=True)
    assert looked.acquire(timeout=10)
    one.stop()
    one.before_fork()
    one.after_fork(in_child=False)
    assert "patchkit-verify" not in names()


# -- in a process ---------------------------------------------------------------------------------


@pytest.mark.processes
def test_what_is_overwritten_later_is_found(upstream: World) -> None:
    """It is in the journal and on stderr; the process ends with 70, though nobody was told."""
    code = """
import json, patchkit.auto, up.mod
from awaiting import await_entry
assert up.mod.function() == ("by", "old")
await_entry(event="verified")
def stranger(): return "theirs"
up.mod.function = stranger
found = await_entry(event="overwritten", name="p")
print(json.dumps([found["target"], found["by"]]))
failed = await_entry(event="patch", name="p", status="failed")
print(json.dumps([failed["reason"], up.mod.function(), up.mod.other()]))
"""
    done = upstream.run("-c", code, PATCHKIT_VERIFY="0.05")
    assert done.returncode == 70, done.stderr
    target, failed = map(json.loads, done.stdout.splitlines())
    assert target[0] == "up.mod:function"
    assert "stranger" in target[1]
    assert failed[0].startswith("OverwrittenError: up.mod:function was overwritten by")
    assert failed[1:] == ["theirs", "old"]
    assert (
        "error: required patch p (pack.patch_a) failed: OverwrittenError" in done.stderr
    )
    assert "Traceback" not in done.stderr


@pytest.mark.processes
def test_who_wraps_is_told_and_nothing_fails(upstream: World) -> None:
    """A profiler that calls on is no fault."""
    code = """
import json, patchkit.auto, up.mod
from awaiting import await_entry
def profiled(former): return lambda: former()
up.mod.function = profiled(up.mod.function)
await_entry(event="wrapped", name="p")
print(up.mod.other()[0])
"""
    done = upstream.run("-c", code, PATCHKIT_VERIFY="0.05")
    assert (done.returncode, done.stdout, done.stderr) == (0, "by\n", "")


@pytest.mark.processes
def test_the_journal_does_not_grow(upstream: World) -> None:
    """However often the process looks, there is one line, of the last look."""
    code = """
import json, patchkit.auto, up.mod
from awaiting import await_entry, entries
import time
await_entry(event="in-effect")  # the first look's
first = await_entry(event="verified")["time"]
before = len(list(entries()))
end = time.monotonic() + 20
while await_entry(event="verified")["time"] < first + 0.2 and time.monotonic() < end:
    time.sleep(0.02)
print(len(list(entries())) - before)
"""
    assert upstream.run("-c", code, PATCHKIT_VERIFY="0.01").stdout == "0\n"


@pytest.mark.processes
def test_nobody_looks_where_nothing_is_applied(upstream: World) -> None:
    """No thread before a role and an applied patch, with 0, and in a block of a test."""
    code = """
import threading, patchkit.auto
print(threading.active_count())
import up.mod
print(threading.active_count())
"""
    assert upstream.run("-c", code).stdout.split() == ["1", "2"]
    assert upstream.run("-c", code, PATCHKIT_VERIFY="0").stdout.split() == ["1", "1"]
    block = (
        "import patchkit, threading\n"
        "with patchkit.applied('p'): print(threading.active_count())"
    )
    assert upstream.run("-c", block).stdout.split() == ["1"]


FORKS = """
import os, sys, threading, patchkit.auto, up.mod, multiprocessing
from awaiting import await_entry
def look_again():
    await_entry(event="verified")
    print(threading.active_count(), flush=True)
def child():
    look_again()
    if sys.argv[1] == "twice":
        grandchild = multiprocessing.get_context("fork").Process(target=look_again)
        grandchild.start()
        grandchild.join()
for _ in range(5):
    if (pid := os.fork()) == 0:
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
process = multiprocessing.get_context("fork").Process(target=child)
process.start()
process.join()
look_again()
"""


@pytest.mark.processes
@pytest.mark.parametrize("seconds", ["0.001", "0.05"])
def test_forks_are_as_they_were(upstream: World, seconds: str) -> None:
    """No warning of forking with threads, no lock that stays taken; children look on their own."""
    (upstream.folder / "forks.py").write_text(FORKS)
    done = upstream.run("-W", "error", "forks.py", "twice", PATCHKIT_VERIFY=seconds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n2\n2\n", "")


# -- what a look and an end tell -------------------------------------------------------------------

SHY = """
def function(): return 'old'
def __getattr__(name): raise RuntimeError(f"{name} is closed")
"""


def test_a_look_that_cannot_be(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What upstream's own code raises is a warning; the patch is as it was, and looked at again."""
    world.module("up.mod", SHY)
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    module = importlib.import_module("up.mod")
    session.lookout.look()
    patched = vars(module).pop("function")
    assert capsys.readouterr().err == ""
    session.lookout.look()
    told = "warning: cannot look at what is applied: RuntimeError('function is closed')"
    assert told in capsys.readouterr().err
    assert session.states["p"].status == "applied"
    module.function = patched
    looks: list[None] = []
    monkeypatch.setattr(session.journal, "verified", lambda: looks.append(None))
    session.lookout.look()
    assert (capsys.readouterr().err, len(looks)) == ("", 1)


def test_a_look_that_fails_a_patch(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told once, as the patch's failure; the look itself raises nothing."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    importlib.import_module("up.mod").function = "theirs"
    session.lookout.look()
    session.lookout.look()
    assert session.states["p"].status == "failed"
    assert "cannot look" not in capsys.readouterr().err


def test_the_first_patch_that_is_applied_tells_of_others(world: World) -> None:
    """What waits for another version is told then, once; nobody has asked before."""
    world.module("up.mod", "def function(): return 'old'\ndef other(): ...\n")
    rows = row("p", "patch_a", WRAP), row("q", "patch_a", SECOND, requires="('up>=2',)")
    absent = row(
        "r", "patch_a", "Wrap('up.absent:other', by='by')", requires="('up>=2',)"
    )
    world.pack(*rows, absent, patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    told = [entry for entry in session.journal.entries if entry["event"] == "unmet"]
    assert told == []
    importlib.import_module("up.mod")
    told = [entry for entry in session.journal.entries if entry["event"] == "unmet"]
    assert told[0]["reasons"]["r"] == "up 1.0 is outside >=2"
    assert len(told) == 1


def test_a_look_at_another_module_under_the_name(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the patch has changed is not what callers import any more: it fails."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    importlib.import_module("up.mod")
    session.lookout.look()
    assert session.states["p"].status == "applied"
    sys.modules["up.mod"] = ModuleType("up.mod")
    session.lookout.look()
    del sys.modules["up.mod"]
    assert session.states["p"].status == "failed"
    assert "another module under its name (made by hand)" in session.states["p"].reason
    assert "cannot look" not in capsys.readouterr().err


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_end_of_a_child_tells_what_was_never_for_it(
    world: World, is_kept: bool
) -> None:
    """Which patches wait in vain is in its journal, if it has one; its exit code is its own."""
    target = "Wrap('absent_module:function', by='by')"
    world.pack(row("p", "patch_a", target, requires="('up>=2',)"), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    session.journal.directory = str(world.folder) if is_kept else None
    assert session.lookout.exit_code(3) == 3
    told = [
        entry["reasons"]
        for entry in session.journal.entries
        if entry["event"] == "unmet"
    ]
    assert told == ([{"p": "up 1.0 is outside >=2"}] if is_kept else [])
    assert session.lookout.exit_code(0) == 0
    assert len(
        [one for one in session.journal.entries if one["event"] == "unmet"]
    ) == len(told)


def test_a_session_that_has_no_charge_leaves_exit_codes(world: World) -> None:
    """A failure counts at the end of a process only where the process is the session's."""
    world.module("up.mod", "")
    world.pack(row("p", "patch_a", WRAP, required="True"), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    with pytest.raises(ApplyError):
        importlib.import_module("up.mod")
    assert session.lookout.exit_code(5) == 5
    session.lookout.take_charge()
    assert session.lookout.exit_code(5) == 70
    session.lookout.end_as_told()
    assert session.lookout.exit_code(5) == 5
    session.lookout.take_charge()
    session.lookout.stand_down()
    assert session.lookout.exit_code(5) == 5
