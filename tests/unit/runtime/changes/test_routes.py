"""What somebody puts on the way to a target, or on a copy of it."""

from __future__ import annotations

import json
import re
import shutil
from typing import Any

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, module_of, row
from support.undoing import undo

from patchkit import Role
from patchkit.cli import main
from patchkit.core.rows.target import Item
from patchkit.runtime.changes.overwrites import stranger_on
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import route_of
from runtime.changes.strangers import stranger, told
from runtime.process.lookouts import AWAIT

world = packages.world


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

    def run(
        change: str, doing: str, **fields: str
    ) -> tuple[str, str, list[dict[str, Any]]]:
        body = "def f(): return 'ours'\ndef by(w, i, a, k): return w(*a, **k)\n"
        world.pack(row("p", "patch_a", change, **fields), patch_a=body)
        code = f"""
import patchkit.auto, up.ways, up.user, sys, types, functools
from patchkit import Role
from patchkit.runtime.changes.overwrites import stranger_on
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.process.making import route_of
from patchkit.runtime.reach import arming
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


@pytest.mark.processes
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


@pytest.mark.processes
@pytest.mark.parametrize(
    ("change", "doing"),
    [
        (EDIT.format("f"), "up.ways.f = functools.partial(up.ways.f)"),
        (EDIT.format("A.run"), "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_RUN, "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_B, "up.ways.Conf = type('Conf', (up.ways.Conf,), {})"),
        (
            OF_F,
            "c = up.ways.f.__code__; up.ways.f.__code__ = c.replace(co_stacksize=99)",
        ),
    ],
)
def test_what_is_put_around_the_way_is_a_neighbour(
    ways: Any, change: str, doing: str
) -> None:
    """It leads to ours in the end."""
    status, _, (stranger,) = ways(change, doing)
    assert (status, stranger["wraps"]) == ("applied", True)


@pytest.mark.processes
@pytest.mark.parametrize("change", [EDIT.format("A.run"), OF_RUN, OF_TABLE, OF_F, OF_B])
def test_a_way_that_nobody_touches(ways: Any, change: str) -> None:
    """There is nothing to tell; nor where the module was evicted, or held by an equal one."""
    doing = "m = types.ModuleType('up.ways'); vars(m).update(vars(up.ways)); "
    for what in ("", "del sys.modules['up.ways']", doing + "m.ways = up.ways"):
        assert ways(change, what) == ("applied", None, [])


@pytest.mark.processes
def test_a_copy_that_somebody_sets_is_told(ways: Any) -> None:
    """The patch stays, and its status says where it does not act."""
    doing = (
        "arming.current().enter(Role.WORKER); "
        "assert up.user.f() == 'ours'; up.user.f = stranger"
    )
    status, _, (stranger,) = ways(OF_F, doing, roles="{Role.WORKER}")
    assert (status, stranger["target"], stranger["wraps"]) == (
        "applied",
        "up.user.f",
        False,
    )


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


@pytest.mark.parametrize(
    "steps", [("function",), ("Base", "method"), ("Sub", "method")]
)
def test_a_step_on_the_way_that_another_takes_the_place_of(
    steps: tuple[Any, ...],
) -> None:
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
