from __future__ import annotations

import functools
import importlib
import json
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any

import packages
import pytest
from one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from packages import World, module_of, row
from process.lookouts import AWAIT
from undoing import undo

from patchkit import Role
from patchkit.changes.overwrites import route_of, stranger_on
from patchkit.changes.sites import Sites
from patchkit.cli import main
from patchkit.errors import ApplyError, OverwrittenError
from patchkit.process.patch_state import APPLIED, EXIT_CODE, FAILED
from patchkit.rows.target import Item

if TYPE_CHECKING:
    from patchkit.process.session import Session

world = packages.world


def told(session: Session, event: str) -> list[dict[str, Any]]:
    return [entry for entry in session.journal.entries if entry["event"] == event]


def stranger() -> str:
    return "theirs"


def test_a_patched_target_that_somebody_overwrites_stops_the_role(world: World) -> None:
    """The error says what stands there and where it comes from; the journal too."""
    session = a_world(world)
    session.arm(MAIN)
    load("up.mod").function = stranger
    with pytest.raises(ApplyError, match="half patched") as caught:
        session.enter(Role.WORKER)
    here = f"{__name__}.stranger ({__file__}:{stranger.__code__.co_firstlineno})"
    assert f"up.mod:function was overwritten by {here}" in str(caught.value)
    assert isinstance(caught.value.__cause__, OverwrittenError)
    (entry,) = told(session, "overwritten")
    assert entry.items() >= {"name": "p", "target": "up.mod:function", "by": here}.items()
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
    a_world(world, REPLACE, "Replace('up.mod:Thing', by='original', unrelated=True)", **required)
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
    with pytest.raises(ApplyError, match="overwritten by its original, which somebody has put"):
        session.stop_if_failed()


def test_a_target_that_was_removed(world: World) -> None:
    """It is said so."""
    session = a_world(world)
    session.arm(MAIN)
    del load("up.mod").function
    with pytest.raises(ApplyError, match="overwritten by nothing: it was removed"):
        session.stop_if_failed()


def test_who_wraps_ours_is_a_neighbour(world: World, capsys: pytest.CaptureFixture[str]) -> None:
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


def test_the_entry_of_an_engine_notices(world: World) -> None:
    """A role begins with a call: it fails before the engine does anything."""
    world.module("up.mod", UPSTREAM)
    world.module(
        "vllm.v1.engine.core", "class EngineCore:\n    def __init__(self): self.began = True\n"
    )
    world.pack(row("p", "patch_a", REPLACE), patch_a=BODY)
    code = """
import json, up.mod
from patchkit.reach.arming import arm
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


# -- the way to a target --------------------------------------------------------------------------

WAYS = """
from dataclasses import dataclass
def f(): return "old"
class A:
    def run(self): return "old"
    @staticmethod
    def make(): return "old"
@dataclass
class Conf:
    a: int = 1
TABLE = {"k": f}
NESTED = {"a": {"b": f}}
"""
EDIT = "Edit('up.ways:{}', old='\"old\"', new='\"new\"')"
AGAIN = "Edit('up.ways:f', old='\"new\"', new='\"newer\"')"
OF_TABLE = "Replace('up.ways:TABLE[\"k\"]', by='f')"
OF_NESTED = "Replace('up.ways:NESTED[\"a\"][\"b\"]', by='f')"
OF_RUN = "Wrap('up.ways:A.run', by='by')"
OF_F = "Replace('up.ways:f', by='f')"
OF_B = "AddField('up.ways:Conf', 'b', 'int', default=2)"


@pytest.fixture
def ways(world: World, capsys: pytest.CaptureFixture[str]) -> Any:
    """What a child tells in its status, after it has done as it is told to upstream."""
    world.module("up.ways", WAYS)
    world.module("up.user", "from up.ways import f\n")

    def run(change: str, doing: str, **fields: str) -> tuple[str, str, list[dict[str, Any]]]:
        body = "def f(): return 'ours'\ndef by(w, i, a, k): return w(*a, **k)\n"
        world.pack(row("p", "patch_a", change, **fields), patch_a=body)
        code = f"""
import patchkit.auto, up.ways, up.user, sys, types, functools
from patchkit import Role
from patchkit.changes.overwrites import route_of, stranger_on
from patchkit.changes.sites import Sites
from patchkit.reach import arming
from awaiting import await_entry, entries
def stranger(*args): return "theirs"
first = await_entry(event="verified")["time"]
{doing}
import time
end = time.monotonic() + 20
while await_entry(event="verified")["time"] < first + 0.2 and time.monotonic() < end:
    time.sleep(0.02)
"""
        shutil.rmtree(world.journal, ignore_errors=True)
        done = world.run("-c", code, PATCHKIT_VERIFY="0.05")
        assert "Traceback" not in done.stderr, done.stderr
        main(["status", str(world.journal), "--format", "json"])
        (process,) = json.loads(capsys.readouterr().out)["processes"]
        (patch,) = [one for one in process["patches"] if one["name"] == "p"]
        return patch["status"], patch["reason"], patch["strangers"]

    world.module("awaiting", AWAIT)
    return run


@pytest.mark.parametrize(
    ("change", "doing"),
    [
        (EDIT.format("A.run"), "up.ways.A.run = stranger"),
        (EDIT.format("A.make"), "up.ways.A.make = staticmethod(stranger)"),
        (EDIT.format("f"), "up.ways.f = stranger"),
        (EDIT.format("f"), "up.ways.f.__code__ = stranger.__code__"),
        (EDIT.format("A.run"), "up.ways.A = type('A', (), {'run': stranger})"),
        (OF_B, "up.ways.Conf = type('Conf', (), {})"),
        (OF_RUN, "up.ways.A = type('A', (), {'run': stranger})"),
        (OF_TABLE, "up.ways.TABLE = {'k': stranger}"),
        (OF_NESTED, "up.ways.NESTED['a'] = {'b': stranger}"),
        (OF_F, "up.ways.f.__code__ = stranger.__code__"),
        (OF_F, "sys.modules['up.ways'] = types.ModuleType('up.ways')"),
    ],
)
def test_what_leads_past_ours_is_found(ways: Any, change: str, doing: str) -> None:
    """The class, the container, the module or the code that a target is reached by was replaced."""
    status, reason, _ = ways(change, doing)
    assert status == "failed"
    assert re.match(r"OverwrittenError: up\.ways:\S+ was overwritten by ", reason)


@pytest.mark.parametrize(
    ("change", "doing"),
    [
        (EDIT.format("f"), "up.ways.f = functools.partial(up.ways.f)"),
        (EDIT.format("A.run"), "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_RUN, "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_B, "up.ways.Conf = type('Conf', (up.ways.Conf,), {})"),
        (OF_F, "c = up.ways.f.__code__; up.ways.f.__code__ = c.replace(co_stacksize=99)"),
    ],
)
def test_what_is_put_around_the_way_is_a_neighbour(ways: Any, change: str, doing: str) -> None:
    """It leads to ours in the end."""
    status, _, (stranger,) = ways(change, doing)
    assert (status, stranger["wraps"]) == ("applied", True)


@pytest.mark.parametrize("change", [EDIT.format("A.run"), OF_RUN, OF_TABLE, OF_F, OF_B])
def test_a_way_that_nobody_touches(ways: Any, change: str) -> None:
    """There is nothing to tell; nor where the module was evicted, or held by an equal one."""
    doing = "m = types.ModuleType('up.ways'); vars(m).update(vars(up.ways)); "
    for what in ("", "del sys.modules['up.ways']", doing + "m.ways = up.ways"):
        assert ways(change, what) == ("applied", None, [])


def test_a_copy_that_somebody_sets_is_told(ways: Any) -> None:
    """The patch stays, and its status says where it does not act."""
    doing = (
        "arming.current().enter(Role.WORKER); assert up.user.f() == 'ours'; up.user.f = stranger"
    )
    status, _, (stranger,) = ways(OF_F, doing, roles="{Role.WORKER}")
    assert (status, stranger["target"], stranger["wraps"]) == ("applied", "up.user.f", False)


def test_ways_through_what_other_patches_replace(world: World) -> None:
    """A class that one patch replaces and another one reaches into; in any order, and undone."""
    world.module("up.ways", WAYS)
    world.pack(
        row("inner", "patch_a", OF_RUN, EDIT.format("A.make"), EDIT.format("f")),
        row("outer", "patch_b", "Replace('up.ways:A', by='B')", roles="{Role.WORKER}"),
        row("third", "patch_c", "Wrap('up.ways:f', by='by')", roles="{Role.WORKER}"),
        row(
            "fourth",
            "patch_d",
            "Edit('up.ways:f', old='\"new\"', new='\"newer\"')",
            roles="set(Role)",
        ),
        patch_a="def by(w, i, a, k): return w()\n",
        patch_b="from up.ways import A\nclass B(A): ...\n",
        patch_c="def by(w, i, a, k): return w()\n",
        patch_d="",
    )
    session = world.session()
    session.arm(MAIN)
    load("up.ways")
    for step in (
        lambda: session.enter(Role.WORKER),
        lambda: undo(session, ["fourth"]),
        lambda: undo(session, ["outer"]),
        lambda: undo(session, ["third"]),
    ):
        step()
        session.stop_if_failed()
    assert not told(session, "overwritten")
    assert not told(session, "wrapped")


# -- the way to a target --------------------------------------------------------------------------

STEPS = """
def function(): ...
TABLE = {"key": function}
class Base:
    def method(self): ...
class Sub(Base): ...
thing = Sub()
thing.own = function
"""


@pytest.mark.parametrize("steps", [("function",), ("Base", "method"), ("Sub", "method")])
def test_a_step_on_the_way_that_another_takes_the_place_of(steps: tuple[Any, ...]) -> None:
    """It is found in a module and in a class, which may have inherited what was there."""
    module = module_of(STEPS)
    route = route_of("target", module, steps, [])
    assert stranger_on(route, Sites()) is None
    owner = module if len(steps) == 1 else getattr(module, steps[0])
    setattr(owner, steps[-1], stranger)
    found = stranger_on(route, Sites())
    assert found is not None
    assert (found.value, found.wraps) == (stranger, False)


def test_an_item_on_the_way_that_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found, also where it is a function, as which attributes may be made for who asks."""
    module = module_of(STEPS)
    route = route_of("target", module, ("TABLE", Item("key")), [])
    assert stranger_on(route, Sites()) is None
    monkeypatch.setitem(module.TABLE, "key", stranger)
    found = stranger_on(route, Sites())
    assert found is not None
    assert found.value is stranger


def test_a_method_of_an_object_on_the_way() -> None:
    """Its class makes it for each who asks: nothing to compare; what it holds itself is."""
    module = module_of(STEPS)
    method = route_of("target", module, ("thing", "method"), [])
    own = route_of("target", module, ("thing", "own"), [])
    module.thing.method = module.thing.own = stranger
    assert stranger_on(method, Sites()) is None
    found = stranger_on(own, Sites())
    assert found is not None
    assert found.value is stranger
