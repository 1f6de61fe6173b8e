from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

import packages
import pytest
from one_patch import MAIN, REPLACE, a_world, load

if TYPE_CHECKING:
    from packages import World

    from patchkit.session import Session

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


def test_a_copy_that_a_thread_is_making_is_repointed(world: World, session: Session) -> None:
    """What lay in the body of a class while the patch came is found when the class is there."""
    session.undo()
    user = Import(world)
    user.begin()
    session.apply(["p"])
    module = user.end()
    assert module.function() == ("new", "old")
    assert module.Holder.held is module.function


def test_a_copy_that_a_thread_is_making_is_taken_back(world: World, session: Session) -> None:
    """And the same when the patch goes."""
    user = Import(world)
    user.begin()
    session.undo()
    module = user.end()
    assert module.function() == "old"
    assert module.Holder.held is module.function is load("up.mod").function


def test_whoever_comes_and_goes_meanwhile(world: World, session: Session) -> None:
    """What the end of the import finds is what holds then."""
    session.undo()
    user = Import(world)
    user.begin()
    for _ in range(3):
        session.apply(["p"])
        session.undo()
    session.apply(["p"])
    module = user.end()
    assert module.Holder.held is module.function is load("up.mod").function
    session.undo()
    assert module.Holder.held is module.function is load("up.mod").function
    assert module.function() == "old"
