"""What only an apply needs is loaded by the first apply, in whatever thread or process that is."""

from __future__ import annotations

from threading import Barrier, Thread, current_thread
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import MAIN, REPLACE, a_world, load
from support.packages import World, row

from patchkit.runtime.process import applier

if TYPE_CHECKING:
    from collections.abc import Callable

world = packages.world

UPSTREAM = "def function(): return 'old'\n"
BODY = "def new(): return 'new'\n"
ARM = """
import json, os, sys
import patchkit.auto
ONLY_FOR_AN_APPLY = ("changes", "copies", *map("process.{}".format, (
    "applier", "dependents", "discarding", "making", "undoing")))
def loaded():
    parts = [name.removeprefix("patchkit.runtime.") for name in sys.modules]
    return [one for one in parts if one.startswith(ONLY_FOR_AN_APPLY)]
"""
GATE = (
    ARM
    + """
import importlib.machinery, signal, threading
reached, go, parent = threading.Event(), threading.Event(), os.getpid()
class Gate:
    def find_spec(self, name, path=None, target=None):
        if name != "patchkit.runtime.process.undoing":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def slowly(module):
            if os.getpid() == parent:
                reached.set()
                assert go.wait(20)
            execute(module)
        spec.loader.exec_module = slowly
        return spec
sys.meta_path.insert(0, Gate())
answers = {}
def ask(name):
    __import__(name)
    answers[name] = sys.modules[name].function()
first = threading.Thread(target=ask, args=("up.one",))
first.start()
assert reached.wait(20)
"""
)
OWN_CODE = (
    "process.undoing",
    "changes.sites",
    "changes.objects.replace",
    "copies.repointing",
)
"""Of each moment at which a first apply loads something, a module that it loads."""


@pytest.fixture(autouse=True)
def _two_modules(world: World) -> None:
    """Make a package of three modules, with a row for main for two, and for a worker for one."""
    names = ("one", "two", "three")
    for name in names:
        world.module(f"up.{name}", UPSTREAM)
    roles = ("{Role.MAIN}", "{Role.MAIN}", "{Role.WORKER}")
    rows = [
        row(name, "patch_a", f"Replace('up.{name}:function', by='new')", roles=role)
        for name, role in zip(names, roles, strict=True)
    ]
    world.pack(*rows, patch_a=BODY)
    pack = world.folder / "pack" / "__init__.py"
    pack.write_text(pack.read_text().replace(", applied", ""))  # which is for tests


@pytest.mark.processes
@pytest.mark.parametrize(
    "code",
    ["import json", "import up.three"],
    ids=["no target", "a target of another role"],
)
def test_a_process_that_applies_nothing_loads_no_applier(
    world: World, code: str
) -> None:
    """Armed, with a role: nothing that only an apply needs, also for what it does not apply."""
    tell = "\npatchkit.auto.session.lookout.look_again()\nprint(json.dumps(loaded()))"
    # With a journal, calls of the other role's target would be observed.
    assert world.answer(ARM + code + tell, PATCHKIT_JOURNAL="") == []


@pytest.mark.processes
def test_a_first_apply_loads_nothing_of_python(world: World) -> None:
    """What the first apply loads at once is all patchkit's: no thread may be importing that."""
    names: list[str] = world.answer(
        ARM
        + "before = set(sys.modules)\n"
        + "assert patchkit.auto.session.applier\n"
        + "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert "patchkit.runtime.process.making" in names
    assert [name for name in names if not name.startswith("patchkit.")] == []


@pytest.mark.processes
def test_a_first_apply_while_another_thread_imports(world: World) -> None:
    """A thread whose import is due while another one loads the applier waits, and both apply.

    Meanwhile, imports of other modules go on.
    """
    answers = world.answer(
        GATE
        + """
import importlib._bootstrap as boot
second = threading.Thread(target=ask, args=("up.two",))
second.start()
while not (boot._blocking_on or {}).get(second.ident):
    second.join(0.01)
import up.three
go.set()
first.join(20), second.join(20)
print(json.dumps([answers, up.three.function()]))
"""
    )
    assert answers == [{"up.one": "new", "up.two": "new"}, "old"]


@pytest.mark.processes
def test_a_first_apply_in_a_forked_child(world: World) -> None:
    """A child of an armed parent loads the applier with its own first apply; the parent none."""
    answer = world.answer(
        ARM
        + """
if (pid := os.fork()) == 0:
    import up.one
    os._exit(0 if up.one.function() == "new" and loaded() else 1)
print(json.dumps([os.waitpid(pid, 0)[1], loaded()]))
"""
    )
    assert answer == [0, []]


@pytest.mark.processes
def test_a_fork_while_a_thread_loads_the_applier(world: World) -> None:
    """A child does not wait for the thread of its parent that was loading the applier."""
    answer = world.answer(
        GATE
        + """
if (pid := os.fork()) == 0:
    signal.alarm(10)  # kills who waits for a lock that nobody gives back
    import up.one, up.two
    os._exit(0 if up.one.function() == up.two.function() == "new" else 1)
status = os.waitpid(pid, 0)[1]
go.set()
first.join(20)
print(json.dumps([status, answers]))
"""
    )
    assert answer == [0, {"up.one": "new"}]


@pytest.mark.processes
@pytest.mark.parametrize("module", OWN_CODE)
def test_a_signal_handler_imports_a_target_while_its_thread_loads_own_code(
    world: World, module: str
) -> None:
    """It goes on without the patch, which is applied as soon as what applies it is there."""
    answer = world.answer(
        ARM
        + f"""
import importlib.machinery, signal
class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name != "patchkit.runtime." + {module!r}:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def interrupted(module):
            signal.raise_signal(signal.SIGUSR1)
            execute(module)
        spec.loader.exec_module = interrupted
        return spec
answers = []
def handler(number, frame):
    import up.two
    answers.append(up.two.function())
signal.signal(signal.SIGUSR1, handler)
sys.meta_path.insert(0, Interruption())
import up.one
statuses = [patchkit.auto.session.states[name].status for name in ("one", "two")]
print(json.dumps([answers, up.one.function(), up.two.function(), statuses]))
"""
    )
    assert answer == [["old"], "new", "new", ["applied", "applied"]]


def test_two_threads_share_one_applier(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two threads that make an applier at a time, both work with the first one."""
    session = a_world(world, REPLACE)
    made: list[Any] = []
    taken: list[Any] = []
    both = Barrier(2, timeout=20)

    def slowly(*parts: Any, wired: Callable[..., Any] = applier.wired) -> Any:
        mine = wired(*parts)
        made.append(mine)
        both.wait()
        if current_thread() is threads[1]:
            threads[0].join(20)  # it has its applier before this thread goes on
        return mine

    monkeypatch.setattr(applier, "wired", slowly)
    threads = [Thread(target=lambda: taken.append(session.applier)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(made) == 2
    assert taken == [session.applier] * 2
    session.arm(MAIN)
    assert load("up.mod").function() == ("new", "old")
