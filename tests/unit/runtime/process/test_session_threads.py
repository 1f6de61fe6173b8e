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
    """A module whose class body takes a copy, imported by a thread that stops there."""

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
    """One patch, applied to a module that is there."""
    session = a_world(world, REPLACE)
    session.arm(MAIN)
    load("up.mod")
    return session


def test_a_copy_that_a_thread_is_making_is_repointed(
    world: World, session: Session
) -> None:
    """What lay in the body of a class while the patch came is found when the class is there."""
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
    """And the same when the patch goes."""
    user = Import(world)
    user.begin()
    undo(session)
    module = user.end()
    assert module.function() == "old"
    assert module.Holder.held is module.function is load("up.mod").function


def test_whoever_comes_and_goes_meanwhile(world: World, session: Session) -> None:
    """What the end of the import finds is what holds then."""
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
    """Two rows of one module; the body of the first stops, while the module is not yet whole."""
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
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_a_patch_that_is_asked_for_while_its_module_is_told(world: World) -> None:
    """Its body needs the module, which the other thread has not finished: that one applies it."""
    session = two_rows(world)
    session.arm(MAIN)
    importing = Importing()
    undo(session, ["q"])
    asking = other_thread(lambda: apply(session, ["q"]))
    asking.join(20)
    assert not asking.is_alive()
    module = importing.end()
    assert (module.function(), module.other()) == (["p"], ["q"])


def test_a_role_that_is_entered_while_a_module_is_told(world: World) -> None:
    """What the role needs is applied at the end of the import, although nobody asks again."""
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


def test_a_body_that_needs_what_the_waiting_thread_imports(world: World) -> None:
    """A thread does not wait for one that waits, in its body, for the import of the first."""
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
