"""A name of one module changed, and the same object under other modules' names left alone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row
from support.undoing import undo

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

UPSTREAM = """
import time
from time import monotonic
LIMIT, NOTHING, TEXT, PAIR = 160, None, 'text', (1, 2)
def now(): return time.time(), monotonic(), (LIMIT, NOTHING, TEXT, PAIR)
"""
OTHER = """
import time, up.mod
from time import monotonic
from up.mod import LIMIT, NOTHING, TEXT, PAIR
def now(): return time.time, monotonic, (LIMIT, NOTHING, TEXT, PAIR)
"""
BODY = """
import time
class OneImporter:
    'Stands for the module, for one importer: what is not set here is the real one.'
    def __getattr__(self, name): return getattr(time, name)
    def time(self): return 'patched'
time_here = OneImporter()
def monotonic(): return 'patched'
LIMIT, NOTHING, TEXT, PAIR = 161, 'nothing', 'other', (3,)
"""


def armed(world: World, name: str, by: str) -> Session:
    """An armed session with one Replace of a name of `up.mod`."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", OTHER)
    world.pack(
        row("p", "patch_a", f"Replace('up.mod:{name}', by={by!r})"), patch_a=BODY
    )
    session = world.session()
    session.arm(MAIN)
    return session


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(
    ("name", "by"), [("time", "time_here"), ("monotonic", "monotonic")]
)
def test_another_modules_object_changes_for_one_importer(
    world: World, name: str, by: str, *, early: bool
) -> None:
    """A stand-in for `time`, or for what was imported from it, is seen by the target alone."""
    originals = {"time": time, "monotonic": time.monotonic}
    world.module("up.other", OTHER)
    if not early:
        world.module("up.mod", UPSTREAM)
        load("up.other")
    session = armed(world, name, by)
    module = load("up.mod")
    importer = load("up.other")
    position = ["time", "monotonic"].index(name)
    assert module.now()[position] == "patched"
    assert importer.now()[:2] == (time.time, time.monotonic)
    assert vars(importer)[name] is originals[name]
    undo(session)
    assert vars(module)[name] is originals[name]


@pytest.mark.parametrize("position", range(4))
def test_a_constant_changes_where_it_is_named(world: World, position: int) -> None:
    """Equal constants elsewhere are left alone: nothing tells a copy from a chance equal."""
    name = ("LIMIT", "NOTHING", "TEXT", "PAIR")[position]
    world.module("up.mod", UPSTREAM)
    world.module("up.other", OTHER)
    before = load("up.other").now()[2]
    session = armed(world, name, name)
    body = load("pack.patch_a")
    assert load("up.mod").now()[2][position] == getattr(body, name)
    assert load("up.other").now()[2] == before
    undo(session)
    assert load("up.mod").now()[2] == before
