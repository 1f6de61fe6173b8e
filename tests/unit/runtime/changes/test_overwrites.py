"""What becomes of a patched target that somebody overwrites or wraps."""

from __future__ import annotations

import functools
import importlib
import sys
from types import FunctionType
from typing import Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row
from support.undoing import undo

from patchkit import Role
from patchkit.errors import ApplyError, OverwrittenError
from patchkit.runtime.process.failure_exit import EXIT_CODE
from patchkit.runtime.process.patch_state import APPLIED, FAILED
from runtime.changes.strangers import entries_of, stranger

world = packages.world


def test_a_patched_target_that_somebody_overwrites_stops_the_role(world: World) -> None:
    """The error says what stands there and where it comes from; the journal too."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = stranger
    with pytest.raises(ApplyError, match="half patched") as caught:
        session.enter(Role.WORKER)
    code = stranger.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    overwriter = f"{stranger.__module__}.stranger ({place})"
    assert f"up.mod:function was overwritten by {overwriter}" in str(caught.value)
    assert isinstance(caught.value.__cause__, OverwrittenError)
    (entry,) = entries_of(session, "overwritten")
    assert (entry["name"], entry["target"]) == ("p", "up.mod:function")
    assert entry["by"] == overwriter
    assert session.states["p"].status == FAILED
    assert load("up.mod").function is stranger


def test_an_overwritten_target_stops_every_entry(world: World) -> None:
    """Every entry raises, of a role that was entered before too; the journal has it once."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = stranger
    for enter in (lambda: session.enter(Role.MAIN), session.stop_if_failed):
        with pytest.raises(ApplyError):
            enter()
    assert len(entries_of(session, "overwritten")) == 1


@pytest.mark.parametrize("leniency", ["optional", "warn"])
def test_an_overwrite_where_failures_are_allowed_is_a_warning(
    world: World, leniency: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It warns once and takes the whole patch back; what the stranger put stays."""
    fields = {"required": "False"} if leniency == "optional" else {}
    on_failure = "warn" if leniency == "warn" else "stop"
    a_world(
        world,
        REPLACE,
        "Replace('up.mod:Thing', by='original', unrelated=True)",
        **fields,
    )
    session = world.session(on_failure=on_failure)
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


def test_an_original_that_somebody_puts_back_is_an_overwrite(world: World) -> None:
    """The original in the place of a patch stops the role, and the error says what it is."""
    session = a_world(world)
    module = load("up.mod")
    original = module.function
    session.arm(MAIN)
    module.function = original
    with pytest.raises(
        ApplyError, match="overwritten by its original, which somebody has put"
    ):
        session.stop_if_failed()


def test_a_target_that_somebody_deletes_is_an_overwrite(world: World) -> None:
    """A deleted target stops the role, and the error says that it was removed."""
    session = a_world(world)
    session.arm(MAIN)
    del load("up.mod").function
    with pytest.raises(ApplyError, match="overwritten by nothing: it was removed"):
        session.stop_if_failed()


def test_a_wrapper_around_a_patched_target_is_a_neighbour(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The patch acts below it; the journal names it once, and nothing is printed."""
    session = a_world(world)
    session.arm(MAIN)
    module = load("up.mod")
    patched = module.function

    @functools.wraps(patched)
    def theirs() -> Any:
        return ("theirs", patched())

    module.function = theirs
    session.enter(Role.WORKER)
    session.enter(Role.MAIN)
    assert module.function() == ("theirs", ("new", "old"))
    assert session.states["p"].status == APPLIED
    (entry,) = entries_of(session, "wrapped")
    assert entry["target"] == "up.mod:function"
    assert __file__ in entry["by"]
    assert capsys.readouterr().err == ""
    module.function = patched


def keeping(former: Any, keep: str) -> Any:
    """A function that has the former one somewhere and never names it."""

    def theirs() -> str:
        return "theirs"

    if keep == "attribute":
        theirs._original = former  # type: ignore[attr-defined]
    if keep == "wraps":
        functools.update_wrapper(theirs, former)
    if keep == "default":
        theirs.__defaults__ = (former,)
    return theirs


@pytest.mark.parametrize("keep", ["attribute", "wraps", "default"])
def test_a_stranger_that_only_keeps_the_patched_function_has_overwritten_it(
    world: World, keep: str
) -> None:
    """The role stops: the patch does not act below what never calls it."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = keeping(load("up.mod").function, keep)
    with pytest.raises(ApplyError, match=r"up\.mod:function was overwritten by"):
        session.enter(Role.WORKER)
    assert not entries_of(session, "wrapped")


def test_a_stranger_that_keeps_the_patched_function_in_its_module_wraps_it(
    world: World,
) -> None:
    """The commonest monkey patch, which saves the former function as a global, is a wrapper."""
    world.module(
        "other",
        "import up.mod\n"
        "_former = up.mod.function\n"
        "def function(): return ('theirs', _former())\n"
        "up.mod.function = function\n",
    )
    session = a_world(world)
    session.arm(MAIN)
    other = load("other")
    session.enter(Role.WORKER)
    assert load("up.mod").function() == ("theirs", ("new", "old"))
    (entry,) = entries_of(session, "wrapped")
    assert "unsure" not in entry
    load("up.mod").function = other._former


class Opaque:
    """Calls what it holds, and has no attribute by the name of which it is held."""

    __slots__ = ("held",)

    def __init__(self, former: Any) -> None:
        self.held = iter([former])

    def __call__(self) -> Any:
        return "theirs"


def test_a_stranger_that_nobody_can_read_is_a_warning(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The required patch stays applied; the entry says that it is unsure, and stderr warns once."""
    session = a_world(world)
    session.arm(MAIN)
    patched = load("up.mod").function
    load("up.mod").function = Opaque(patched)
    session.enter(Role.WORKER)
    session.stop_if_failed()
    load("up.mod").function = patched
    assert session.states["p"].status == APPLIED
    (entry,) = entries_of(session, "wrapped")
    assert entry["unsure"] is True
    assert entry["target"] == "up.mod:function"
    said = "cannot tell whether that calls the patch"
    assert capsys.readouterr().err.count(said) == 1


def test_a_copy_below_a_stranger_that_nobody_can_read_is_a_warning(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is a copy that somebody has replaced by what may call the patch, or not."""
    world.module("up.user", "from up.mod import function")
    session = a_world(world)
    user = load("up.user")
    session.arm(MAIN)
    user.function = Opaque(user.function)
    session.enter(Role.WORKER)
    (entry,) = entries_of(session, "wrapped")
    assert (entry["target"], entry["unsure"]) == ("up.user.function", True)
    assert "cannot tell whether that calls" in capsys.readouterr().err


def test_code_that_calls_a_function_with_the_former_code_wraps_it(world: World) -> None:
    """What changes a patched function in place, as ddtrace does, acts above it."""
    session = a_world(world, "Edit('up.mod:function', old=\"'old'\", new=\"'new'\")")
    session.arm(MAIN)
    function = load("up.mod").function
    former = FunctionType(function.__code__, function.__globals__)
    vars(load("up.mod"))["former"] = former
    exec("def theirs(): return ('theirs', former())", vars(load("up.mod")))
    function.__code__ = load("up.mod").theirs.__code__
    session.enter(Role.WORKER)
    assert function() == ("theirs", "new")
    assert len(entries_of(session, "wrapped")) == 1
    exec("def theirs(): return 'theirs'", vars(load("up.mod")))
    function.__code__ = load("up.mod").theirs.__code__
    with pytest.raises(ApplyError, match="overwritten by another code"):
        session.stop_if_failed()


def test_a_neighbour_between_two_patches(world: World) -> None:
    """A wrapper over one patch and under another is named once, also after the upper one's undo."""
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
    patched = module.function
    module.function = lambda: ("theirs", patched())
    session.enter(Role.WORKER)
    session.stop_if_failed()
    assert module.function() == ("second", ("theirs", ("first", "old")))
    (entry,) = entries_of(session, "wrapped")
    assert (entry["name"], entry["target"]) == ("first", "up.mod:function")
    undo(session, ["second"])
    session.enter(Role.WORKER)
    session.stop_if_failed()
    assert len(entries_of(session, "wrapped")) == 1
    module.function = patched


def test_a_wrapper_around_the_original_is_an_overwrite(world: World) -> None:
    """A wrapper that calls the original, past the patch, stops the role."""
    session = a_world(world)
    module = load("up.mod")
    original = module.function
    session.arm(MAIN)
    module.function = functools.wraps(original)(lambda: original())  # noqa: PLW0108
    with pytest.raises(ApplyError, match="overwritten"):
        session.stop_if_failed()


def test_a_reload_is_no_overwrite(world: World) -> None:
    """The patch applies again to the reloaded module, and nothing is reported."""
    session = a_world(world)
    session.arm(MAIN)
    importlib.reload(load("up.mod"))
    session.enter(Role.WORKER)
    assert not entries_of(session, "overwritten")
    assert load("up.mod").function() == ("new", "old")


def test_an_entry_during_a_reload_reports_no_overwrite(world: World) -> None:
    """A module may enter a role while it is reloaded: nothing stops, and it is patched then."""
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
    """Neither the module that was evicted nor the one imported anew is reported."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod")
    del sys.modules["up.mod"]
    session.stop_if_failed()
    load("up.mod")
    session.stop_if_failed()
    assert not entries_of(session, "overwritten")


def test_an_original_put_back_into_a_copy_is_reported(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The original put back under an importer's name is reported once, and nothing stops."""
    world.module("up.user", "from up.mod import function")
    session = a_world(world)
    user = load("up.user")
    original = user.function
    session.arm(MAIN)
    user.function = original
    session.enter(Role.WORKER)
    session.enter(Role.MAIN)
    (entry,) = entries_of(session, "overwritten")
    assert (entry["name"], entry["target"]) == ("p", "up.user.function")
    assert capsys.readouterr().err.count("up.user.function was overwritten by") == 1
    assert session.states["p"].status == APPLIED


def test_an_overwrite_after_undo_is_not_reported(world: World) -> None:
    """A target that is overwritten after its patch was undone stops nothing."""
    session = a_world(world)
    session.arm(MAIN)
    undo(session)
    load("up.mod").function = stranger
    session.stop_if_failed()
    assert not entries_of(session, "overwritten")


@pytest.mark.processes
def test_the_entry_of_an_engine_notices_an_overwrite(world: World) -> None:
    """The call that begins an engine's role raises ApplyError if a target was overwritten."""
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
    error, message = world.answer(code, ends=EXIT_CODE)  # the test swallows it
    assert error == "ApplyError"
    assert "up.mod:function was overwritten by" in message
