"""Copies of a name that a module does not have in its dict: its `__getattr__` serves it."""

from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from .bound import MAIN, load

world = packages.world
SERVES = """
NAMES = ('Served', 'served', 'made')
def __getattr__(name):
    from importlib import import_module
    if name in NAMES:
        return getattr(import_module('up.impl'), name)
    raise AttributeError(name)
"""
IMPL = "class Served: ...\ndef served(): return 'old'\nmade = Served()"
BODY = """
from up import impl
class Served(impl.Served): ...
def served(): return 'new'
made = Served()
"""


@pytest.fixture
def served(world: World) -> World:
    """An upstream package that serves names of a module of its own, and those who import them."""
    world.module("up.impl", IMPL)
    world.module("up.__init__", SERVES)
    world.module("up.user", "from up import Served, served, made as kept")
    world.module("up.table", "from up import served\nTABLE = {'f': served}")
    world.module("up.direct", "from up.impl import Served, served, made")
    world.module("up.later", "from up import Served, served, made as kept")
    world.module("other", "from up import Served, served, made")
    world.module("stranger", "from up.impl import Served, served, made")
    return world


@pytest.mark.parametrize("name", ["Served", "served", "made"])
def test_copies_of_a_served_name(served: World, name: str) -> None:
    """They follow and come back; of what holds one elsewhere, that from there is named."""
    change = f"Replace('up:{name}', by='{name}')"
    served.pack(row("one", "patch_a", change), patch_a=BODY)
    up, user, direct, other, _ = load("up", "up.user", "up.direct", "other", "stranger")
    copied_as = "kept" if name == "made" else name
    old = getattr(user, copied_as)
    session = served.session()
    session.arm(MAIN)
    new = getattr(up, name)
    assert new is not old
    assert getattr(user, copied_as) is new
    assert getattr(direct, name) is getattr(other, name) is old
    entry = session.journal.entries[-1]
    assert entry["rebound"] == [f"up.user:{copied_as}"]
    # No code tells what `__getattr__` has found there.
    beside = ["up.impl:made (origin unknown)"] if name == "made" else []
    assert sorted(entry["out_of_reach"]) == [f"other:{name} (out of scope)", *beside]
    (later,) = load("up.later")
    assert getattr(later, copied_as) is new
    undo(session)
    for module in (user, later):
        assert getattr(module, copied_as) is old
    assert name not in vars(up)


def test_a_table_of_a_served_function(served: World) -> None:
    """It is named, as that of a function that the module has itself."""
    served.pack(
        row("one", "patch_a", "Replace('up:served', by='served')"), patch_a=BODY
    )
    load("up.table")
    session = served.session()
    session.arm(MAIN)
    entry = session.journal.entries[-1]
    assert entry["rebound"] == ["up.table:served"]
    assert entry["out_of_reach"] == ["up.table:TABLE['f'] (origin unknown)"]


@pytest.mark.parametrize("name", ["Served", "served"])
def test_the_definition_of_a_served_name(served: World, name: str) -> None:
    """A copy that was served follows the definition that it is of, and comes back."""
    change = f"Replace('up.impl:{name}', by='{name}')"
    served.pack(row("one", "patch_a", change), patch_a=BODY)
    up, user, other = load("up", "up.user", "other")
    old = getattr(user, name)
    session = served.session()
    session.arm(MAIN)
    assert getattr(user, name) is getattr(up, name) is not old
    entry = session.journal.entries[-1]
    assert entry["out_of_reach"] == [f"other:{name} (out of scope)"]
    undo(session)
    assert getattr(user, name) is getattr(up, name) is getattr(other, name) is old
