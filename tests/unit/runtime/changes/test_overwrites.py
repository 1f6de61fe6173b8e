"""What becomes of a patched target that somebody overwrites or wraps."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row
from support.undoing import undo

from patchkit import Role
from patchkit.errors import ApplyError, OverwrittenError
from patchkit.runtime.process.patch_state import APPLIED, EXIT_CODE, FAILED
from runtime.changes.strangers import stranger, told

world = packages.world


def test_a_patched_target_that_somebody_overwrites_stops_the_role(world: World) -> None:
    """The error says what stands there and where it comes from; the journal too."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = stranger
    with pytest.raises(ApplyError, match="half patched") as caught:
        session.enter(Role.WORKER)
    code = stranger.__code__
    here = f"{stranger.__module__}.stranger ({code.co_filename}:{code.co_firstlineno})"
    assert f"up.mod:function was overwritten by {here}" in str(caught.value)
    assert isinstance(caught.value.__cause__, OverwrittenError)
    (entry,) = told(session, "overwritten")
    assert (
        entry.items() >= {"name": "p", "target": "up.mod:function", "by": here}.items()
    )
    assert session.states["p"].status == FAILED
    assert load("up.mod").function is stranger


def test_it_stops_every_time(world: World) -> None:
    """Whoever swallows the error meets it at the next entry, of a role that was entered too."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = stranger
    for enter in (lambda: session.enter(Role.MAIN), session.stop_if_failed):
        with pytest.raises(ApplyError):
            enter()
    assert len(told(session, "overwritten")) == 1


@pytest.mark.parametrize("how", ["optional", "warn"])
def test_where_a_failure_may_be_it_is_a_warning(
    world: World, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The process goes on, and nothing of the patch is left; what the stranger put is."""
    required = {"required": "False"} if how == "optional" else {}
    a_world(
        world,
        REPLACE,
        "Replace('up.mod:Thing', by='original', unrelated=True)",
        **required,
    )
    session = world.session(on_failure="warn" if how == "warn" else "stop")
    world.module("up.user", "from up.mod import function")
    user = load("up.user")
    original = user.function
    session.arm(MAIN)
    assert user.function is not original
    module = load("up.mod")
    module.function = stranger
    session.enter(Role.MAIN)
    session.enter(Role.MAIN)
    assert capsys.readouterr().err.count("up.mod:function was overwritten by") == 1
    assert isinstance(module.Thing, type)
    assert module.function is stranger
    assert user.function is original


def test_the_original_put_back_is_an_overwrite(world: World) -> None:
    """Somebody who had patched before took its own off, and ours with it."""
    module = None
    session = a_world(world)
    module = load("up.mod")
    original = module.function
    session.arm(MAIN)
    module.function = original
    with pytest.raises(
        ApplyError, match="overwritten by its original, which somebody has put"
    ):
        session.stop_if_failed()


def test_a_target_that_was_removed(world: World) -> None:
    """It is said so."""
    session = a_world(world)
    session.arm(MAIN)
    del load("up.mod").function
    with pytest.raises(ApplyError, match="overwritten by nothing: it was removed"):
        session.stop_if_failed()


def test_who_wraps_ours_is_a_neighbour(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ours acts below; the journal says once who is there, and stderr is quiet."""
    session = a_world(world)
    session.arm(MAIN)
    module = load("up.mod")
    below = module.function

    @functools.wraps(below)
    def theirs() -> Any:
        return ("theirs", below())

    module.function = theirs
    session.enter(Role.WORKER)
    session.enter(Role.MAIN)
    assert module.function() == ("theirs", ("new", "old"))
    assert session.states["p"].status == APPLIED
    (entry,) = told(session, "wrapped")
    assert entry["target"] == "up.mod:function"
    assert __file__ in entry["by"]
    assert capsys.readouterr().err == ""
    module.function = below


def test_a_neighbour_between_two_of_ours(world: World) -> None:
    """The first patch is wrapped by somebody, and the second lies on top of that."""
    world.module("up.mod", UPSTREAM)
    world.pack(
        row("first", "patch_a", WRAP),
        row("second", "patch_b", WRAP, roles="{Role.WORKER}"),
        patch_a="def by(w, i, a, k): return ('first', w())",
        patch_b="def by(w, i, a, k): return ('second', w())",
    )
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    below = module.function
    module.function = lambda: ("theirs", below())
    session.enter(Role.WORKER)
    session.stop_if_failed()
    assert module.function() == ("second", ("theirs", ("first", "old")))
    (entry,) = told(session, "wrapped")
    assert (entry["name"], entry["target"]) == ("first", "up.mod:function")
    undo(session, ["second"])
    session.enter(Role.WORKER)
    session.stop_if_failed()
    assert len(told(session, "wrapped")) == 1
    module.function = below


def test_who_wraps_the_original_has_overwritten(world: World) -> None:
    """A wrapper that was made of the original, before, leads past ours."""
    session = a_world(world)
    module = load("up.mod")
    original = module.function
    session.arm(MAIN)
    module.function = functools.wraps(original)(lambda: original())  # noqa: PLW0108
    with pytest.raises(ApplyError, match="overwritten"):
        session.stop_if_failed()


def test_a_reload_is_no_overwrite(world: World) -> None:
    """The patch applies again, and nothing is reported."""
    session = a_world(world)
    session.arm(MAIN)
    importlib.reload(load("up.mod"))
    session.enter(Role.WORKER)
    assert not told(session, "overwritten")
    assert load("up.mod").function() == ("new", "old")


def test_a_reload_that_is_under_way_is_no_overwrite(world: World) -> None:
    """The module enters a role itself while it executes anew."""
    world.module("gate")
    load("gate").enter = lambda: None
    session = a_world(world)
    world.module("up.mod", UPSTREAM + "import gate\ngate.enter()\n")
    session.arm(MAIN)
    module = load("up.mod")
    load("gate").enter = session.stop_if_failed
    importlib.reload(module)
    assert module.function() == ("new", "old")


def test_an_evicted_module_is_no_overwrite(world: World) -> None:
    """The old module stays as it is, and so does the new one."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod")
    del sys.modules["up.mod"]
    session.stop_if_failed()
    load("up.mod")
    session.stop_if_failed()
    assert not told(session, "overwritten")


def test_a_copy_that_came_back_is_reported(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody has put the original back under another name: that is said, and nothing stops."""
    world.module("up.user", "from up.mod import function")
    session = a_world(world)
    user = load("up.user")
    original = user.function
    session.arm(MAIN)
    user.function = original
    session.enter(Role.WORKER)
    session.enter(Role.MAIN)
    (entry,) = told(session, "overwritten")
    assert (entry["name"], entry["target"]) == ("p", "up.user.function")
    assert capsys.readouterr().err.count("up.user.function was overwritten by") == 1
    assert session.states["p"].status == APPLIED


def test_what_is_undone_is_not_inspected(world: World) -> None:
    """Who overwrites an original is none of our business."""
    session = a_world(world)
    session.arm(MAIN)
    undo(session)
    load("up.mod").function = stranger
    session.stop_if_failed()
    assert not told(session, "overwritten")


@pytest.mark.processes
def test_the_entry_of_an_engine_notices(world: World) -> None:
    """A role begins with a call: it fails before the engine does anything."""
    world.module("up.mod", UPSTREAM)
    world.module(
        "vllm.v1.engine.core",
        "class EngineCore:\n    def __init__(self): self.began = True\n",
    )
    world.pack(row("p", "patch_a", REPLACE), patch_a=BODY)
    code = """
import json, up.mod
from patchkit.runtime.reach.arming import arm
arm()
import up.mod, vllm.v1.engine.core as core
core.EngineCore()
up.mod.function = print
try:
    core.EngineCore()
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    name, text = world.answer(code, ends=EXIT_CODE)  # the test swallows it
    assert name == "ApplyError"
    assert "up.mod:function was overwritten by" in text
