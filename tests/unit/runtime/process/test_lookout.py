from __future__ import annotations

import importlib
import json
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

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

    from patchkit.runtime.process.session import Session

world = packages.world
upstream = lookouts.upstream


@pytest.fixture
def verifier() -> Iterator[Callable[..., Verifier]]:
    """Return a function that makes verifiers, which are stopped in the end."""
    made: list[Verifier] = []

    def make(look: Callable[[], None], seconds: float = 0.001) -> Verifier:
        made.append(Verifier(look, seconds, lambda _: False))
        return made[-1]

    yield make
    for looking in made:
        looking.stop()


def thread_names() -> list[str]:
    """The names of all threads of this process."""
    return [thread.name for thread in threading.enumerate()]


# -- the thread -----------------------------------------------------------------------------------


def test_a_verifier_looks_until_it_is_stopped(
    verifier: Callable[..., Verifier],
) -> None:
    """One thread looks again and again, however often it is started, and ends when stopped."""
    looked = threading.Semaphore(0)
    looking = verifier(looked.release)
    for _ in range(3):
        looking.start()
    assert thread_names().count("patchkit-verify") == 1
    assert all(looked.acquire(timeout=10) for _ in range(3))
    looking.stop()
    looking.stop()
    assert "patchkit-verify" not in thread_names()


def test_zero_seconds_start_no_thread(verifier: Callable[..., Verifier]) -> None:
    """A verifier that is to look every 0 seconds starts no thread."""
    verifier(lambda: None, 0).start()
    assert "patchkit-verify" not in thread_names()


def test_a_verifier_stops_for_a_fork(verifier: Callable[..., Verifier]) -> None:
    """The verifier's thread ends before a fork, and runs again on both sides unless stopped."""
    looked = threading.Semaphore(0)
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir())) if tasks.exists() else 0
    looking = verifier(looked.release)
    looking.start()
    looking.before_fork()
    if tasks.exists():
        assert len(list(tasks.iterdir())) <= before
    assert "patchkit-verify" not in thread_names()
    looking.after_fork(in_child=False)
    while looked.acquire(blocking=False):
        pass
    assert looked.acquire(timeout=10)
    looking.before_fork()
    looking.after_fork(in_child=True)
    assert looked.acquire(timeout=10)
    looking.stop()
    looking.before_fork()
    looking.after_fork(in_child=False)
    assert "patchkit-verify" not in thread_names()


def test_a_verifier_that_was_stopped_begins_no_more(
    verifier: Callable[..., Verifier],
) -> None:
    """What is applied in an exit handler after the verifier's own starts no thread again."""
    looking = verifier(lambda: None)
    looking.start()
    looking.stop()
    looking.start()
    assert "patchkit-verify" not in thread_names()


def test_a_finalizer_starts_a_verifier_that_is_being_started(
    verifier: Callable[..., Verifier], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs while the thread is made may start it, and there is one."""
    looking = verifier(lambda: None)
    plain = threading.Thread

    def finalize(**arguments: Any) -> threading.Thread:
        monkeypatch.undo()
        looking.start()
        return plain(**arguments)

    starting = plain(target=looking.start, daemon=True)
    monkeypatch.setattr(threading, "Thread", finalize)
    starting.start()
    starting.join(10)
    assert thread_names().count("patchkit-verify") == 1


# -- in a process ---------------------------------------------------------------------------------


@pytest.mark.processes
def test_a_target_that_is_overwritten_later_ends_the_process_with_70(
    upstream: World,
) -> None:
    """An overwritten target is in the journal and on stderr, and the process ends with 70."""
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
    overwritten, failed = map(json.loads, done.stdout.splitlines())
    target, by = overwritten
    assert target == "up.mod:function"
    assert "stranger" in by
    reason, *answers = failed
    assert reason.startswith("OverwrittenError: up.mod:function was overwritten by")
    assert answers == ["theirs", "old"]
    assert (
        "error: required patch p (pack.patch_a) failed: OverwrittenError" in done.stderr
    )
    assert "Traceback" not in done.stderr


@pytest.mark.processes
def test_a_wrapper_around_a_target_is_no_failure(upstream: World) -> None:
    """Somebody's wrapper that calls on is in the journal, and the process ends with 0."""
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
def test_the_journal_does_not_grow_with_looks(upstream: World) -> None:
    """However often the process looks, the journal has one line for all looks."""
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
def test_no_thread_looks_where_nothing_is_applied(upstream: World) -> None:
    """The verifier's thread starts with the first applied patch; not with 0, nor for a block."""
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
def test_forks_beside_the_verifier(upstream: World, seconds: str) -> None:
    """Forks give no warning of threads and leave no lock taken, and children look on their own."""
    (upstream.folder / "forks.py").write_text(FORKS)
    done = upstream.run("-W", "error", "forks.py", "twice", PATCHKIT_VERIFY=seconds)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n2\n2\n", "")


LAST_IMPORT = """
import patchkit.auto
class Client:
    def __init__(self): self.callback = self.close
    def close(self):
        from up.mod import function
        print(function())
    def __del__(self): self.close()
client = Client()
{}
del client
"""


@pytest.mark.processes
@pytest.mark.parametrize("earlier", ["", "import up.other"])
def test_an_object_that_imports_a_target_when_the_interpreter_ends(
    upstream: World, earlier: str
) -> None:
    """The target is patched, and the process ends, whether or not a thread had looked before."""
    upstream.module("up.other", "def function(): return 'old'\n")
    rows = [
        row("p", "patch_a", WRAP, roles="set(Role)"),
        row("q", "patch_a", "Wrap('up.other:function', by='by')", roles="set(Role)"),
    ]
    upstream.pack(*rows, patch_a=BY)
    done = upstream.run("-c", LAST_IMPORT.format(earlier))
    assert (done.returncode, done.stdout) == (0, "('by', 'old')\n"), done.stderr


# -- what a look and an end tell -------------------------------------------------------------------

SHY = """
def function(): return 'old'
def __getattr__(name): raise ERROR(f"{name} is closed")
"""


def unmet_reasons(session: Session) -> list[dict[str, str]]:
    """The reasons of each `unmet` entry of a session's journal."""
    entries = session.journal.entries
    return [entry["reasons"] for entry in entries if entry["event"] == "unmet"]


@pytest.mark.parametrize("error", ["RuntimeError", "SystemExit"])
def test_a_look_that_raises_is_a_warning(
    world: World, capsys: Any, monkeypatch: pytest.MonkeyPatch, error: str
) -> None:
    """Where upstream's code raises at a look, the patch stays applied; the next look succeeds."""
    world.module("up.mod", SHY.replace("ERROR", error))
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    module = importlib.import_module("up.mod")
    session.lookout.look()
    patched = vars(module).pop("function")
    assert capsys.readouterr().err == ""
    session.lookout.look()
    text = f"warning: cannot look at what is applied: {error}('function is closed')"
    assert text in capsys.readouterr().err
    assert session.states["p"].status == "applied"
    module.function = patched
    looks: list[None] = []
    monkeypatch.setattr(session.journal, "verified", lambda: looks.append(None))
    session.lookout.look()
    assert capsys.readouterr().err == ""
    assert len(looks) == 1


def test_a_look_that_fails_a_patch(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A look that finds its target overwritten fails the patch, and raises nothing."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", WRAP), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    importlib.import_module("up.mod").function = "theirs"
    session.lookout.look()
    session.lookout.look()
    assert session.states["p"].status == "failed"
    assert "cannot look" not in capsys.readouterr().err


def test_the_first_applied_patch_writes_which_patches_are_unmet(world: World) -> None:
    """When the first patch is applied, one entry names those that wait for another version."""
    world.module("up.mod", "def function(): return 'old'\ndef other(): ...\n")
    rows = row("p", "patch_a", WRAP), row("q", "patch_a", SECOND, requires="('up>=2',)")
    absent = row(
        "r", "patch_a", "Wrap('up.absent:other', by='by')", requires="('up>=2',)"
    )
    world.pack(*rows, absent, patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    assert unmet_reasons(session) == []
    importlib.import_module("up.mod")
    (reasons,) = unmet_reasons(session)
    assert reasons["r"] == "up 1.0 is outside >=2"


def test_a_look_at_another_module_under_the_name(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch fails once `sys.modules` has another module under the name of its target's."""
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
def test_the_end_of_a_child_writes_which_patches_are_unmet(
    world: World, is_kept: bool
) -> None:
    """A child that has a journal writes one entry of them; its exit code is its own in any case."""
    target = "Wrap('absent_module:function', by='by')"
    world.pack(row("p", "patch_a", target, requires="('up>=2',)"), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    session.journal.directory = str(world.folder) if is_kept else None
    assert session.lookout.exit_code(3) == 3
    expected = [{"p": "up 1.0 is outside >=2"}] if is_kept else []
    assert unmet_reasons(session) == expected
    assert session.lookout.exit_code(0) == 0
    assert len(unmet_reasons(session)) == len(expected)


def test_a_session_that_has_no_charge_leaves_exit_codes(world: World) -> None:
    """A failure makes the exit code 70 only while the session is in charge of the process."""
    world.module("up.mod", "")
    world.pack(row("p", "patch_a", WRAP, required="True"), patch_a=BY)
    session = world.session()
    session.arm(frozenset({Role.MAIN}))
    with pytest.raises(ApplyError):
        importlib.import_module("up.mod")
    assert session.lookout.exit_code(5) == 5
    session.lookout.take_charge()
    assert session.lookout.exit_code(5) == 70
    session.lookout.leave_exit_code()
    assert session.lookout.exit_code(5) == 5
    session.lookout.take_charge()
    session.lookout.stand_down()
    assert session.lookout.exit_code(5) == 5
