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
from patchkit.runtime.changes.context import route_of
from patchkit.runtime.changes.overwrites import stranger_on
from patchkit.runtime.changes.sites import Sites
from runtime.changes.strangers import entries_of, stranger
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


SUPER = """
class A(up.ways.A):
    def run(self): return super().run()
up.ways.A = A
"""


@pytest.fixture
def status_after(world: World, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a child that acts on patched upstream: its patch's status, reason and strangers."""
    world.module("up.ways", WAYS)
    world.module("up.user", "from up.ways import f\n")

    def run(
        change: str, action: str, **fields: str
    ) -> tuple[str, str, list[dict[str, Any]]]:
        body = "def f(): return 'ours'\ndef by(w, i, a, k): return w(*a, **k)\n"
        world.pack(row("p", "patch_a", change, **fields), patch_a=body)
        code = f"""
import patchkit.auto, up.ways, up.user, sys, types, functools
from patchkit import Role
from patchkit.runtime.changes.overwrites import stranger_on
from patchkit.runtime.changes.sites import Sites
from patchkit.runtime.changes.context import route_of
from patchkit.runtime.reach import arming
from awaiting import await_entry, entries
def stranger(*args): return "theirs"
first = await_entry(event="verified")["time"]
{action}
import time
end = time.monotonic() + 20
while await_entry(event="verified")["time"] < first + 0.2 and time.monotonic() < end:
    time.sleep(0.02)
"""
        shutil.rmtree(world.journal, ignore_errors=True)
        child = world.run("-c", code, PATCHKIT_VERIFY="0.05")
        assert "Traceback" not in child.stderr, child.stderr
        main(["status", str(world.journal), "--format", "json"])
        (process,) = json.loads(capsys.readouterr().out)["processes"]
        (patch,) = [patch for patch in process["patches"] if patch["name"] == "p"]
        return patch["status"], patch["reason"], patch["strangers"]

    world.module("awaiting", AWAIT)
    return run


@pytest.mark.processes
@pytest.mark.parametrize(
    ("change", "action"),
    [
        (EDIT.format("A.run"), "up.ways.A.run = stranger"),
        (EDIT.format("A.make"), "up.ways.A.make = staticmethod(stranger)"),
        (EDIT.format("f"), "up.ways.f = stranger"),
        (EDIT.format("f"), "up.ways.f.__code__ = stranger.__code__"),
        (EDIT.format("A.run"), "up.ways.A = type('A', (), {'run': stranger})"),
        (OF_B, "up.ways.Conf = type('Conf', (), {})"),
        (OF_RUN, "up.ways.A = type('A', (), {'run': stranger})"),
        (OF_TABLE, "up.ways.TABLE = {'k': stranger}"),
        (OF_RUN, "up.ways.A = type('A', (up.ways.A,), {'run': stranger})"),
        (
            EDIT.format("A.run"),
            "up.ways.A = type('A', (up.ways.A,), {'run': stranger})",
        ),
        (OF_NESTED, "up.ways.NESTED['a'] = {'b': stranger}"),
        (OF_F, "up.ways.f.__code__ = stranger.__code__"),
        (OF_F, "sys.modules['up.ways'] = types.ModuleType('up.ways')"),
    ],
)
def test_a_replaced_step_on_the_way_to_a_target_is_an_overwrite(
    status_after: Any, change: str, action: str
) -> None:
    """A patch fails if the class, container, module or code that leads to it is replaced."""
    status, reason, _ = status_after(change, action)
    assert status == "failed"
    assert re.match(r"OverwrittenError: up\.ways:\S+ was overwritten by ", reason)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("change", "action"),
    [
        (EDIT.format("f"), "up.ways.f = functools.partial(up.ways.f)"),
        (EDIT.format("A.run"), "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_RUN, "up.ways.A = type('A', (up.ways.A,), {})"),
        (OF_RUN, SUPER),
        (EDIT.format("A.run"), SUPER),
        (OF_B, "up.ways.Conf = type('Conf', (up.ways.Conf,), {})"),
        (
            OF_F,
            "c = up.ways.f.__code__; up.ways.f.__code__ = c.replace(co_stacksize=99)",
        ),
    ],
)
def test_a_wrapped_step_on_the_way_to_a_target_is_a_neighbour(
    status_after: Any, change: str, action: str
) -> None:
    """A patch stays applied if what somebody puts on the way still leads to it."""
    status, _, (neighbour,) = status_after(change, action)
    assert status == "applied"
    assert neighbour["wraps"] is True


@pytest.mark.processes
@pytest.mark.parametrize("change", [EDIT.format("A.run"), OF_RUN, OF_TABLE, OF_F, OF_B])
def test_a_way_that_nobody_touches_has_no_strangers(
    status_after: Any, change: str
) -> None:
    """Nobody is reported, also where the module was evicted or an equal one holds it."""
    evict = "del sys.modules['up.ways']"
    hold = (
        "m = types.ModuleType('up.ways'); vars(m).update(vars(up.ways)); "
        "m.ways = up.ways"
    )
    for action in ("", evict, hold):
        assert status_after(change, action) == ("applied", None, [])


@pytest.mark.processes
def test_a_copy_that_somebody_overwrites_is_reported(status_after: Any) -> None:
    """The patch stays applied, and its status names the copy where it does not act."""
    action = (
        "arming.current().enter(Role.WORKER); "
        "assert up.user.f() == 'ours'; up.user.f = stranger"
    )
    status, _, (overwriter,) = status_after(OF_F, action, roles="{Role.WORKER}")
    assert status == "applied"
    assert overwriter["target"] == "up.user.f"
    assert overwriter["wraps"] is False


def test_a_way_through_what_another_patch_replaces_has_no_strangers(
    world: World,
) -> None:
    """Patches that change what others reach into are no strangers, applied or undone."""
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
    assert not entries_of(session, "overwritten")
    assert not entries_of(session, "wrapped")


# -- one step of the way --------------------------------------------------------------------------

STEPS = """
def function(): ...
TABLE = {"key": function}
class Base:
    def method(self): ...
class Sub(Base): ...
thing = Sub()
thing.own = function
"""


@pytest.mark.parametrize("qualname", ["function", "Base.method", "Sub.method"])
def test_a_replaced_attribute_on_the_way_is_found(
    qualname: str,
) -> None:
    """`stranger_on` finds what replaced a module's or class's attribute, an inherited one too."""
    module = module_of(STEPS)
    route = route_of("target", module, qualname, [])
    assert stranger_on(route, Sites()) is None
    cls, _, name = qualname.rpartition(".")
    owner = getattr(module, cls) if cls else module
    setattr(owner, name, stranger)
    found = stranger_on(route, Sites())
    assert found is not None
    assert (found.value, found.wraps) == (stranger, False)


def test_a_replaced_item_on_the_way_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """`stranger_on` finds the function that replaced a function in a container."""
    module = module_of(STEPS)
    route = route_of("target", module, "TABLE['key']", [])
    assert stranger_on(route, Sites()) is None
    monkeypatch.setitem(module.TABLE, "key", stranger)
    found = stranger_on(route, Sites())
    assert found is not None
    assert found.value is stranger


def test_only_an_objects_own_attribute_is_compared() -> None:
    """`stranger_on` finds what replaced an object's own attribute, and ignores a bound method."""
    module = module_of(STEPS)
    to_method = route_of("target", module, "thing.method", [])
    to_own = route_of("target", module, "thing.own", [])
    module.thing.method = module.thing.own = stranger
    assert stranger_on(to_method, Sites()) is None
    found = stranger_on(to_own, Sites())
    assert found is not None
    assert found.value is stranger
