from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from patchkit import Role
from patchkit.errors import ApplyError
from patchkit.runtime.process.failure_exit import EXIT_CODE
from patchkit.runtime.process.patch_state import APPLIED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

MAIN = frozenset({Role.MAIN})
WRAP = "Wrap('up.mod:function', by='by')"
UPSTREAM = "def function(): return 'old'\n"
BY = (
    "def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))\n"
)

ARM = """
import importlib, json, os, sys, threading
from patchkit import Role
from patchkit.runtime.reach.arming import arm
session = arm(frozenset({Role.MAIN}))
"""


def a_world(world: World, *changes: str, body: str = "", **fields: str) -> None:
    """Write an upstream module and one patch, whose body goes on with `body`."""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", *(changes or (WRAP,)), **fields), patch_a=BY + body)


def armed(world: World, **settings: Any) -> Session:
    """Return a session that is armed for the main process."""
    session = world.session(**settings)
    session.arm(MAIN)
    return session


def load(name: str) -> Any:
    """Import a module by its name."""
    return importlib.import_module(name)


# -- calls around imports --------------------------------------------------------------------------


def test_before_and_after_import_run_around_the_module(world: World) -> None:
    """`BeforeImport` runs before the module exists, and `AfterImport` once it is complete."""
    a_world(
        world,
        "BeforeImport('up.mod', call='before')",
        "AfterImport('up.mod', call='after')",
        body="""
import sys
seen = []
def before(): seen.append(hasattr(sys.modules.get('up.mod'), 'function'))
def after(module): seen.append(module.function())
""",
    )
    armed(world)
    load("up.mod")
    assert load("pack.patch_a").seen == [False, "old"]


def test_before_import_that_comes_too_late_is_a_failure(world: World) -> None:
    """Arming raises where the module of a `BeforeImport` has been imported already."""
    a_world(world, "BeforeImport('up.mod', call='before')", body="def before(): ...")
    session = world.session()
    load("up.mod")
    with pytest.raises(ApplyError, match=r"up\.mod was imported before patchkit"):
        session.arm(MAIN)


def test_after_import_runs_for_every_execution(world: World) -> None:
    """A reload undoes the first call of an `AfterImport`, and then calls it again."""
    world.module("notes", "seen = []")
    body = """
import notes
def after():
    notes.seen.append('made')
    return lambda: notes.seen.append('undone')
"""
    a_world(world, "AfterImport('up.mod', call='after')", body=body)
    session = armed(world)
    importlib.reload(load("up.mod"))
    undo(session)
    assert load("notes").seen == ["made", "undone", "made", "undone"]


def test_a_body_that_imports_its_own_target(world: World) -> None:
    """A body that imports its target sees the original, and is not applied recursively."""
    a_world(world, body="import up.mod\nassert up.mod.function() == 'old'\n")
    armed(world)
    assert load("up.mod").function() == ("by", "old")


# -- when and requires -----------------------------------------------------------------------------


def test_when_skips_with_its_reason(world: World) -> None:
    """A `when` that returns a reason skips the patch with that reason, and is asked only once."""
    body = "asked = []\ndef here():\n    asked.append(1)\n    return 'no device'\n"
    a_world(world, when="'here'", body=body)
    session = armed(world)
    module = load("up.mod")
    assert module.function() == "old"
    assert session.states["p"].status == SKIPPED
    assert session.states["p"].reason == "no device"
    importlib.reload(module)
    assert load("pack.patch_a").asked == [1]


def test_a_version_that_names_no_release_is_a_failure(world: World) -> None:
    """The import fails and asks for PATCHKIT_VERSIONS where the version names no release."""
    a_world(world)
    armed(world, versions="0.1.dev16577+gabc")
    with pytest.raises(ApplyError, match="PATCHKIT_VERSIONS"):
        load("up.mod")


def test_a_row_whose_changes_are_all_for_other_versions_is_skipped(
    world: World,
) -> None:
    """A row is skipped where each of its changes requires another version."""
    a_world(world, WRAP.replace(")", ", requires=('up>2',))"))
    session = armed(world)
    load("up.mod")
    assert session.states["p"].status == SKIPPED


# -- half-imported bodies --------------------------------------------------------------------------


def test_a_body_that_is_imported_before_its_target(world: World) -> None:
    """A body that imports its target gets the original; the patch applies when it is complete."""
    a_world(world)
    world.module("pack.patch_a", "from up.mod import function as original\n" + BY)
    session = armed(world)
    body = load("pack.patch_a")
    assert load("up.mod").function() == ("by", "old")
    assert body.original() == "old"
    assert session.states["p"].status == APPLIED


# -- threads ---------------------------------------------------------------------------------------


@pytest.mark.processes
def test_threads_import_and_enter_roles_at_once(world: World) -> None:
    """Whatever the order, every target is wrapped exactly once, and nothing hangs."""
    rows, bodies = [], {}
    for number in range(12):
        world.module(f"up.m{number}", f"import up.m{(number * 5) % 12}\n{UPSTREAM}")
        role = ("MAIN", "ENGINE_CORE", "WORKER")[number % 3]
        change = f"Wrap('up.m{number}:function', by='by')"
        rows.append(
            row(f"p{number}", f"patch_{number}", change, roles=f"{{Role.{role}}}")
        )
        bodies[f"patch_{number}"] = f"import up.m{(number * 7) % 12}\n{BY}"
    world.pack(*rows, **bodies)
    code = """
names = [f"up.m{number}" for number in range(12)]
barrier = threading.Barrier(7)
def load(offset):
    barrier.wait(10)
    for name in names[offset:] + names[:offset]:
        importlib.import_module(name)
def enter(roles):
    barrier.wait(10)
    for role in roles:
        session.enter(role)
threads = [threading.Thread(target=load, args=(k,), daemon=True) for k in (0, 3, 6, 9)]
roles = list(Role)
threads += [threading.Thread(target=enter, args=(r,), daemon=True)
            for r in (roles, roles[::-1], roles[1:])]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
assert not any(thread.is_alive() for thread in threads), "deadlock"
print(json.dumps([sys.modules[name].function() for name in names]))
"""
    assert world.answer(ARM + code) == [["by", "old"]] * 12


@pytest.mark.processes
def test_no_lock_is_held_while_a_body_runs(world: World) -> None:
    """A body may wait for a thread that imports another target and enters another role."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", UPSTREAM)
    waiting = """
import importlib, threading
def work():
    importlib.import_module('up.other')
    from patchkit.runtime.reach.arming import current
    from patchkit import Role
    current().enter(Role.WORKER)
thread = threading.Thread(target=work, daemon=True)
thread.start()
thread.join(10)
finished = not thread.is_alive()
"""
    world.pack(
        row("p", "patch_a", WRAP),
        row(
            "q", "patch_b", "Wrap('up.other:function', by='by')", roles="{Role.WORKER}"
        ),
        patch_a=BY + waiting,
        patch_b=BY,
    )
    code = """
import up.mod, up.other, pack.patch_a
print(json.dumps([pack.patch_a.finished, up.mod.function(), up.other.function()]))
"""
    assert world.answer(ARM + code) == [True, ["by", "old"], ["by", "old"]]


@pytest.mark.processes
def test_who_enters_a_role_second_waits_for_the_first(world: World) -> None:
    """No thread goes on in a role whose patches another thread is still applying."""
    body = "import threading\nbegun, go = threading.Event(), threading.Event()\n"
    world.module("gate", body)
    a_world(
        world,
        roles="{Role.WORKER}",
        body="import gate\ngate.begun.set()\ngate.go.wait(10)\n",
    )
    code = """
import gate, up.mod
seen = []
def enter():
    session.enter(Role.WORKER)
    seen.append(up.mod.function())
first, second = (threading.Thread(target=enter, daemon=True) for _ in range(2))
first.start()
assert gate.begun.wait(10)
second.start()
second.join(0.3)
gate.go.set()
first.join(10), second.join(10)
print(json.dumps(seen))
"""
    assert world.answer(ARM + code) == [["by", "old"]] * 2


@pytest.mark.processes
def test_who_enters_a_role_second_hears_of_the_failure(world: World) -> None:
    """A required patch that fails in one thread stops the other one as well."""
    world.module(
        "gate", "import threading\nbegun, go = threading.Event(), threading.Event()\n"
    )
    broken = (
        "import gate\ngate.begun.set()\ngate.go.wait(10)\nraise ValueError('broken')\n"
    )
    a_world(world, roles="{Role.WORKER}", body=broken)
    code = """
import gate, up.mod
from patchkit.errors import ApplyError
seen = []
def enter():
    try:
        session.enter(Role.WORKER)
    except ApplyError:
        seen.append("stopped")
first, second = (threading.Thread(target=enter, daemon=True) for _ in range(2))
first.start()
assert gate.begun.wait(10)
second.start()
second.join(0.3)
gate.go.set()
first.join(10), second.join(10)
print(json.dumps([*seen, up.mod.function()]))
"""
    assert world.answer(ARM + code, ends=EXIT_CODE) == ["stopped", "stopped", "old"]


# -- fork ------------------------------------------------------------------------------------------


@pytest.mark.processes
def test_fork_while_another_thread_applies(world: World) -> None:
    """A forked child undoes what a thread had half applied, and can apply the patch as a whole."""
    world.module(
        "gate", "import threading\nbegun, go = threading.Event(), threading.Event()\n"
    )
    body = """
import gate
def slow():
    gate.begun.set()
    gate.go.wait(10)
"""
    a_world(
        world,
        WRAP,
        "AfterImport('up.mod', call='slow')",
        roles="{Role.WORKER}",
        body=body,
    )
    code = """
import gate, up.mod
thread = threading.Thread(target=session.enter, args=(Role.WORKER,), daemon=True)
thread.start()
assert gate.begun.wait(10)
half = up.mod.function()
read, write = os.pipe()
if (pid := os.fork()) == 0:
    gate.go.set()
    found = [up.mod.function(), session.states["p"].status]
    session.enter(Role.WORKER)
    found += [up.mod.function(), session.states["p"].status]
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.close(write)
child = json.loads(os.fdopen(read).read())
os.waitpid(pid, 0)
gate.go.set()
thread.join(10)
print(json.dumps([half, child, up.mod.function()]))
"""
    by = ["by", "old"]
    assert world.answer(ARM + code) == [by, ["old", "armed", by, "applied"], by]


FORK_IN_A_BODY = """
import gate, up.mod
thread = threading.Thread(target=IMPORTS, daemon=True)
thread.start()
assert gate.begun.wait(10)
read, write = os.pipe()
if (pid := os.fork()) == 0:
    gate.go.set()
    session.enter(Role.WORKER)
    found = [up.mod.function(), session.states["p"].status]
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.close(write)
child = json.loads(os.fdopen(read).read())
os.waitpid(pid, 0)
gate.go.set()
thread.join(10)
session.enter(Role.WORKER)
print(json.dumps([child, up.mod.function()]))
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    "imports",
    [
        "lambda: session.enter(Role.WORKER)",
        "lambda: importlib.import_module('pack.patch_a')",
    ],
)
def test_fork_while_another_thread_imports_a_body(world: World, imports: str) -> None:
    """A forked child imports the body anew, whoever was importing it, and applies the patch."""
    world.module(
        "gate", "import threading\nbegun, go = threading.Event(), threading.Event()\n"
    )
    body = "import gate\ngate.begun.set()\ngate.go.wait(10)\n"
    a_world(world, WRAP, roles="{Role.WORKER}", body=body)
    by = ["by", "old"]
    code = FORK_IN_A_BODY.replace("IMPORTS", imports)
    assert world.answer(ARM + code) == [[by, "applied"], by]


@pytest.mark.processes
def test_a_forked_child_has_the_patches_and_a_journal_of_its_own(world: World) -> None:
    """A child inherits an applied patch, undoes it for itself alone, and has its own journal."""
    a_world(world)
    code = """
import up.mod
read, write = os.pipe()
if (pid := os.fork()) == 0:
    before = up.mod.function()
    session.become([Role.WORKER])
    os.write(write, json.dumps([before, up.mod.function()]).encode())
    os._exit(0)
os.close(write)
child = json.loads(os.fdopen(read).read())
os.waitpid(pid, 0)
print(json.dumps([child, up.mod.function(), pid]))
"""
    child, parent, pid = world.answer(ARM + code)
    assert child == [["by", "old"], "old"]
    assert parent == ["by", "old"]
    of_child = [entry for entry in world.entries() if entry["pid"] == pid]
    assert of_child[0].items() >= {"event": "armed", "forked": True}.items()
    statuses = [entry["status"] for entry in of_child if entry.get("name") == "p"]
    assert statuses == ["applied", "armed"]


@pytest.mark.processes
def test_two_threads_that_need_one_body(world: World) -> None:
    """A thread that waits for the body that another one imports, and that one, both finish."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", UPSTREAM)
    world.pack(
        row("one", "patch_a", WRAP),
        row("two", "patch_a", "Wrap('up.other:function', by='by')"),
        patch_a=BY,
    )
    code = """
from importlib.machinery import PathFinder, SourceFileLoader
class Slow(SourceFileLoader):  # until the other thread is on its way to the body, too
    def create_module(self, spec):
        if threading.current_thread() is not other:
            other.start()
            while not group.loads: pause.wait(0.001)
class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec
group, pause = session.states["two"].groups[0], threading.Event()
other = threading.Thread(target=__import__, args=("up.other",), daemon=True)
sys.meta_path.insert(0, Slowing())
import up.mod
other.join(10)
print(json.dumps([up.mod.function(), sys.modules["up.other"].function(), other.is_alive()]))
"""
    assert world.answer(ARM + code) == [["by", "old"], ["by", "old"], False]
