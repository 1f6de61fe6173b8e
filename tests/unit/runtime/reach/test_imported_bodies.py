from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest
from support import packages
from support.packages import World, row

from patchkit.runtime.imports.finder import watch_bodies

world = packages.world

BODY = """
from up.mod import Thing, function
class NewThing(Thing): ...
def new(): return ('new', function())
"""


@pytest.fixture
def pickled(world: World, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An object of a body, as another process sends it."""
    world.module("up.mod", "def function(): return 'old'\nclass Thing: ...\n")
    changes = (
        "Replace('up.mod:Thing', by='NewThing')",
        "Replace('up.mod:function', by='new')",
    )
    world.pack(row("p", "patch_a", *changes), patch_a=BODY)
    with monkeypatch.context() as patch:
        patch.setenv("PATCHKIT", "0")  # else it arms this process
        import pack.patch_a  # type: ignore[import-not-found]

    return pickle.dumps(pack.patch_a.NewThing())


def unpickling(pickled: bytes, more: str = "") -> str:
    """A program that runs `more`, unpickles, and prints what is patched and armed then."""
    return f"""
import json, pickle, sys
{more}
thing = pickle.loads({pickled!r})
arming = sys.modules.get("patchkit.runtime.reach.arming")
current = arming.current() if arming is not None else None
import up.mod
print(json.dumps([type(thing) is up.mod.Thing, up.mod.function(),
                  current and current.states["p"].status, "pack.patch_a" in sys.modules]))
"""


NEW = ["new", "old"]


@pytest.mark.processes
def test_an_object_of_a_body_arms_whoever_unpickles_it(
    world: World, pickled: bytes
) -> None:
    """A process that never heard of patchkit is armed, and its patches are applied."""
    assert world.answer(unpickling(pickled)) == [True, NEW, "applied", True]


@pytest.mark.processes
def test_a_target_that_was_imported_before_is_patched(
    world: World, pickled: bytes
) -> None:
    """Unpickling patches a target that was imported before, and copies of it elsewhere."""
    world.module("up.user", "from up.mod import function")
    code = (
        unpickling(pickled, "import up.user")
        + "assert up.user.function() == ('new', 'old')\n"
    )
    assert world.answer(code + "print(json.dumps('done'))") == "done"


@pytest.mark.processes
def test_an_object_of_a_body_arms_nothing_where_patchkit_is_off(
    world: World, pickled: bytes
) -> None:
    """With PATCHKIT=0 the object is unpickled, and no process is armed or patched."""
    assert world.answer(unpickling(pickled), PATCHKIT="0") == [False, "old", None, True]


@pytest.mark.processes
def test_a_pack_that_this_process_was_not_told_of(world: World, pickled: bytes) -> None:
    """A body of a pack that is not among this process's packs is just a module."""
    code = unpickling(pickled).replace(
        'current.states["p"].status', "len(current.states) > 0"
    )
    answer: Any = world.answer(code, PATCHKIT_PATCHES="")
    assert answer[1] == "old"


@pytest.mark.processes
def test_a_failure_of_the_patch_ends_the_unpickling(
    world: World, pickled: bytes
) -> None:
    """A process that unpickles an object whose patch fails gets the error, and does not go on."""
    world.module("up.mod", "class Thing: ...\ndef function(): ...\n")
    world.module("pack.patch_a", BODY.replace("def new", "def misspelt"))
    done = world.run("-c", unpickling(pickled))
    assert done.returncode == 1
    assert "ApplyError: required patch p" in done.stderr


def test_the_finder_is_installed_once() -> None:
    """A second call of `watch_bodies` adds no finder to `sys.meta_path`."""
    watch_bodies(list)
    before = list(sys.meta_path)
    watch_bodies(list)
    assert sys.meta_path == before


@pytest.mark.processes
def test_a_body_that_a_block_loads_arms_nothing(world: World, pickled: bytes) -> None:
    """Loading a body within a block does not arm the process; after the block, it does."""
    code = f"""
import json, pickle, sys
from patchkit import applied
from patchkit.runtime.reach.arming import current
armed = []
with applied("p"):
    pickle.loads({pickled!r})
    armed.append(current() is not None)
del sys.modules["pack.patch_a"]
pickle.loads({pickled!r})
print(json.dumps([*armed, current() is not None]))
"""
    assert world.answer(code) == [False, True]


@pytest.mark.processes
def test_importing_a_pack_arms_nothing(world: World, pickled: bytes) -> None:
    """Importing a pack without a body does not load what arms: reading rows has no effect."""
    code = """
import json, sys, pack
print(json.dumps("patchkit.runtime.reach.arming" in sys.modules))
"""
    assert world.answer(code) is False
