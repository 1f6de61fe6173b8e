from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import MAIN, REPLACE, a_world, load
from support.packages import row
from support.undoing import apply, undo

from patchkit import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.packages import World

    from patchkit.runtime.process.session import Session

world = packages.world

USER = """
from up.mod import function
import gate
class Holder:
    held = function
    gate.reached.set()
    assert gate.go.wait(20)
"""


class Import:
    """A thread that imports a module, and stops in a class body that has taken a copy."""

    def __init__(self, world: World) -> None:
        gate: Any = importlib.import_module(world.module("gate").stem)
        gate.reached, gate.go = threading.Event(), threading.Event()
        world.module("up.user", USER)
        self._gate = gate
        self._thread = threading.Thread(target=load, args=("up.user",))

    def begin(self) -> None:
        self._thread.start()
        assert self._gate.reached.wait(20)

    def end(self) -> Any:
        self._gate.go.set()
        self._thread.join(20)
        return load("up.user")


@pytest.fixture
def session(world: World) -> Session:
    """A session whose one patch is applied to a module that was imported."""
    session = a_world(world, REPLACE)
    session.arm(MAIN)
    load("up.mod")
    return session


def test_a_copy_that_a_thread_is_making_is_repointed(
    world: World, session: Session
) -> None:
    """A copy in a class body that is still executing is repointed once the class exists."""
    undo(session)
    user = Import(world)
    user.begin()
    apply(session, ["p"])
    module = user.end()
    assert module.function() == ("new", "old")
    assert module.Holder.held is module.function


def test_a_copy_that_a_thread_is_making_is_taken_back(
    world: World, session: Session
) -> None:
    """A copy in a class body that is still executing gets the original after an undo."""
    user = Import(world)
    user.begin()
    undo(session)
    module = user.end()
    assert module.function() == "old"
    assert module.Holder.held is module.function is load("up.mod").function


def test_a_copy_while_a_patch_is_applied_and_undone(
    world: World, session: Session
) -> None:
    """At the end of its import, a copy is what the last apply or undo says."""
    undo(session)
    user = Import(world)
    user.begin()
    for _ in range(3):
        apply(session, ["p"])
        undo(session)
    apply(session, ["p"])
    module = user.end()
    assert module.Holder.held is module.function is load("up.mod").function
    undo(session)
    assert module.Holder.held is module.function is load("up.mod").function
    assert module.function() == "old"


# -- beside an import that another thread is about to finish ---------------------------------------

GATE = "import threading\nbegun, go = threading.Event(), threading.Event()\n"
SLOW = "import gate\ngate.begun.set()\nassert gate.go.wait(20)\nfrom up.mod import function\n"
BY = "def by(wrapped, instance, args, kwargs): return [{0!r}, *wrapped()]\n"


def two_rows(world: World, second: str = "") -> Any:
    """Write two rows of one module; the first body stops while the module is still importing."""
    world.module("gate", GATE)
    world.module("up.mod", "def function(): return []\ndef other(): return []\n")
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row(
            "q",
            "patch_b",
            "Wrap('up.mod:other', by='by')",
            roles="{Role.MAIN, Role.WORKER}",
        ),
        patch_a=SLOW + BY.format("p"),
        patch_b=f"from up.mod import other\n{second}" + BY.format("q"),
    )
    return world.session()


class Importing:
    """A thread that imports the target, and stops in the body of the first patch."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self._gate = load("gate")
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._gate.begun.wait(20)

    def _run(self) -> None:
        try:
            load("up.mod")
        except BaseException as error:
            self.errors.append(error)

    def end(self) -> Any:
        self._gate.go.set()
        self._thread.join(20)
        assert not self._thread.is_alive(), "deadlock"
        assert self.errors == []
        return sys.modules["up.mod"]


def other_thread(act: Callable[[], object]) -> threading.Thread:
    """Start a thread that does something, and return it."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_a_patch_that_is_applied_while_another_thread_imports_its_module(
    world: World,
) -> None:
    """The apply does not wait: the thread that imports applies the patch at the end."""
    session = two_rows(world)
    session.arm(MAIN)
    importing = Importing()
    undo(session, ["q"])
    asking = other_thread(lambda: apply(session, ["q"]))
    asking.join(20)
    assert not asking.is_alive()
    module = importing.end()
    assert (module.function(), module.other()) == (["p"], ["q"])


def test_a_role_that_is_entered_while_another_thread_imports_a_module(
    world: World,
) -> None:
    """The entry does not wait: the patches of the role are applied at the end of that import."""
    session = two_rows(world)
    session.arm(MAIN)
    session.become({Role.ENGINE_CORE})
    session.enter(Role.MAIN)
    importing = Importing()
    entering = other_thread(lambda: session.enter(Role.WORKER))
    entering.join(20)
    assert not entering.is_alive()
    module = importing.end()
    assert (module.function(), module.other()) == (["p"], ["q"])


def test_a_body_that_needs_what_another_thread_imports(world: World) -> None:
    """A thread does not wait for one whose body waits for an import of the first thread."""
    world.module("gate", GATE)
    world.module("up.mod", "def function(): return []\n")
    world.module("up.other", "import gate, ask\ngate.begun.set()\nask.enter()\n")
    body = "import gate\nassert gate.begun.wait(20)\ngate.go.set()\nimport up.other\n"
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", roles="{Role.WORKER}"),
        patch_a=body + BY.format("p"),
    )
    session = world.session()
    session.arm(MAIN)
    load("up.mod")
    ask: Any = load(world.module("ask").stem)
    gate: Any = load("gate")

    def enter() -> None:
        assert gate.go.wait(20)
        session.enter(Role.WORKER)

    ask.enter = enter
    threads = [
        other_thread(lambda: load("up.other")),
        other_thread(lambda: session.enter(Role.WORKER)),
    ]
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "deadlock"
    assert sys.modules["up.mod"].function() == ["p"]
    assert "up.other" in sys.modules
