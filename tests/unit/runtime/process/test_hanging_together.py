"""Tests for targets that hang together: heirs, re-exports, and the parts of what is replaced."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import World, row

from patchkit.errors import ApplyError
from patchkit.runtime.process.applier import CopiesPass

if TYPE_CHECKING:
    from collections.abc import Callable

    from patchkit.runtime.process.session import Session

world = packages.world

IMPL = """
import abc, contextlib, dataclasses, functools
class C:
    def m(self): return ["m"]
class Base:
    def m(self): return ["m"]
class Heir(Base): pass
class HeirOfHeir(Heir): pass
class Abstract(abc.ABC):
    @abc.abstractmethod
    def m(self): ...
class AbstractHeir(Abstract): pass
class Equal: pass
class EqualHeir(Equal): pass
@dataclasses.dataclass
class Fields:
    a: int = 1
Alias = C
TABLE = {"k": lambda: ["k"]}
instance = C()
@contextlib.contextmanager
def lent(): yield ["lent"]
@functools.lru_cache
def kept(): return ["kept"]
log = []
def f(): return ["f"]
"""
API = "from up.impl import C, f, TABLE\nmethod = C.m\n"
BODY = """
def wrap(w, i, a, k): return ["ROW", *w(*a, **k)]
def plain(w, i, a, k): return w(*a, **k)
def method(self): return ["ROW"]
def equal(self, other): return True
def lent(): yield ["ROW"]
def kept(): return ["ROW"]
class Other:
    def m(self): return ["other of ROW"]
TABLE = {"k": lambda: ["item of ROW"]}
def note(module): module.log.append("ROW")
"""
INHERITING = """
import dataclasses
from up import impl
class Inheriting(impl.C): pass
@dataclasses.dataclass
class InheritingFields(impl.Fields): b: int = 5
"""
REPLACE_CLASS = "Replace('up.impl:C', by='Other', unrelated=True)"
REPLACE_TABLE = "Replace('up.impl:TABLE', by='TABLE')"


def wrap(target: str) -> str:
    """Source of a change that puts the name of its row before what is returned."""
    return f"Wrap({target!r}, by='wrap')"


WRAP_BASE = wrap("up.impl:Base.m")
WRAP_HEIR = wrap("up.impl:Heir.m")
WRAP_NEXT_HEIR = wrap("up.impl:HeirOfHeir.m")
WRAP_HEIRS = f"{WRAP_HEIR}, {WRAP_NEXT_HEIR}"


def start_rows(world: World, *rows: str, **bodies: str) -> Session:
    """Arm a session with these rows, after upstream has been imported."""
    world.module("up.impl", IMPL)
    world.module("up.api", API)
    world.pack(*rows, **bodies)
    session = world.session()
    importlib.import_module("up.api")
    session.arm(frozenset(), lent=True)
    return session


def start(world: World, *changes: str) -> Session:
    """Arm a session with one row and one body a text of changes: a, b and so on."""
    rows: list[str] = []
    bodies: dict[str, str] = {}
    for name, change in zip("abc", changes, strict=False):
        rows.append(row(name, f"patch_{name}", change))
        bodies[f"patch_{name}"] = BODY.replace("ROW", name)
    return start_rows(world, *rows, **bodies)


def hold(session: Session, *names: str) -> None:
    """Apply rows, one after another."""
    for name in names:
        session.blocks.hold([name])


# -- heirs -----------------------------------------------------------------------------------------


def test_a_base_is_wrapped_below_two_heirs_of_one_row(world: World) -> None:
    """The wrapper of the base comes in once, below that of the nearest heir."""
    session = start(world, WRAP_BASE, WRAP_HEIRS)
    impl = importlib.import_module("up.impl")
    hold(session, "b", "a")
    assert impl.Heir().m() == ["b", "a", "m"]


def test_a_base_is_wrapped_below_an_heir_put_on_again(world: World) -> None:
    """What another heir got from the first one while that was bare does not come in between."""
    session = start(world, WRAP_BASE, WRAP_HEIR, WRAP_NEXT_HEIR)
    impl = importlib.import_module("up.impl")
    session.blocks.hold(["b"])
    session.blocks.let_go(["b"])
    hold(session, "c", "b", "a")
    assert impl.Heir().m() == ["b", "a", "m"]


def test_a_base_is_taken_back_below_two_heirs_of_one_row(world: World) -> None:
    """Nothing of the base's wrapper is left below the heirs."""
    session = start(world, WRAP_BASE, WRAP_HEIRS)
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    assert impl.Heir().m() == ["b", "m"]


def test_one_row_wraps_a_base_and_its_heir(world: World) -> None:
    """Each of the two wrappers acts once in a call on the heir."""
    session = start(world, f"{WRAP_BASE}, {WRAP_HEIR}")
    impl = importlib.import_module("up.impl")
    session.blocks.hold(["a"])
    assert impl.Heir().m() == ["a", "a", "m"]


def test_an_heir_keeps_the_replacement_that_its_base_loses(world: World) -> None:
    """Of two rows that bring one function, taking one back leaves what the other put in place."""
    session = start_rows(
        world,
        row("a", "patch_body", "Replace('up.impl:Base.m', by='m')"),
        row("b", "patch_body", "Replace('up.impl:Heir.m', by='m')"),
        patch_body="def m(self): return ['new']\n",
    )
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    assert impl.Base().m() == ["m"]
    assert impl.Heir().m() == ["new"]


def test_an_heir_whose_equality_is_replaced_stays_unhashable(world: World) -> None:
    """It has no hash of its own, also once the replaced equality of its base is taken back."""
    session = start(
        world,
        "Replace('up.impl:Equal.__eq__', by='equal')",
        "Replace('up.impl:EqualHeir.__eq__', by='equal')",
    )
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    assert impl.EqualHeir.__hash__ is None


def test_an_abstract_heir_is_abstract_again(world: World) -> None:
    """Once base and heir are taken back, the heir lacks the same methods as before."""
    session = start(
        world,
        "Replace('up.impl:Abstract.m', by='method')",
        "Replace('up.impl:AbstractHeir.m', by='method')",
    )
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    session.blocks.let_go(["b"])
    assert impl.AbstractHeir.__abstractmethods__ == {"m"}


def test_a_method_that_a_stranger_deletes_stays_deleted(world: World) -> None:
    """A base that comes and goes gives its heir no method of its own again."""
    session = start(world, WRAP_BASE, WRAP_HEIR)
    impl = importlib.import_module("up.impl")
    session.blocks.hold(["b"])
    del impl.Heir.m
    session.blocks.hold(["a"])
    assert "m" not in vars(impl.Heir)
    session.blocks.let_go(["a"])
    assert "m" not in vars(impl.Heir)


# -- the whole and its parts -----------------------------------------------------------------------


def test_a_part_is_reached_through_a_re_export_at_once(world: World) -> None:
    """Of two rows applied together, the second wraps a method of what the first brings."""
    session = start(world, REPLACE_CLASS, wrap("up.api:C.m"))
    api = importlib.import_module("up.api")
    session.blocks.hold(["a", "b"])
    assert api.C().m() == ["b", "other of a"]


def test_one_row_that_discards_its_own_part_is_refused(world: World) -> None:
    """Also where it names the part through a re-export; nothing of the row stays."""
    session = start(world, f"{REPLACE_CLASS}, {wrap('up.api:C.m')}")
    api = importlib.import_module("up.api")
    original = api.C
    with pytest.raises(ApplyError, match="discard"):
        session.blocks.hold(["a"])
    assert api.C is original
    assert api.C().m() == ["m"]


@pytest.mark.parametrize(
    ("whole", "part", "call", "below"),
    [
        (REPLACE_CLASS, "up.api:C.m", lambda impl: impl.C().m(), "m"),
        (REPLACE_CLASS, "up.impl:Alias.m", lambda impl: impl.C().m(), "m"),
        (REPLACE_TABLE, "up.api:TABLE['k']", lambda impl: impl.TABLE["k"](), "k"),
    ],
)
def test_a_part_named_through_a_copy_stays_when_the_whole_is_taken_back(
    world: World, whole: str, part: str, call: Callable[[Any], list[str]], below: str
) -> None:
    """Its wrapper then lies in the original."""
    session = start(world, whole, wrap(part))
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    assert call(impl) == ["b", below]


def test_a_second_replace_that_discards_a_part_is_refused(world: World) -> None:
    """The error names both rows, and the part goes on acting."""
    session = start(world, REPLACE_CLASS, wrap("up.impl:C.m"), REPLACE_CLASS)
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    with pytest.raises(ApplyError, match=r"\bc\b.*\bb\b"):
        session.blocks.hold(["c"])
    assert impl.C().m() == ["b", "other of a"]


def test_a_copy_of_a_part_follows_it_when_the_whole_is_taken_back(world: World) -> None:
    """A name that another module has for the original method calls the wrapper too."""
    session = start(world, REPLACE_CLASS, wrap("up.impl:C.m"))
    api = importlib.import_module("up.api")
    hold(session, "a", "b")
    session.blocks.let_go(["a"])
    assert api.method(None) == ["b", "m"]


def test_a_field_outlives_the_heir_that_stood_in(world: World) -> None:
    """A field that was added while an heir stood in for the class is not lost with the heir."""
    session = start_rows(
        world,
        row("a", None, "AddField('up.impl:Fields', name='x', type=int, default=2)"),
        row("b", "patch_b", "Replace('up.impl:Fields', by='InheritingFields')"),
        patch_b=INHERITING,
    )
    impl = importlib.import_module("up.impl")
    hold(session, "b", "a")
    session.blocks.let_go(["b"])
    assert session.states["a"].status == "applied"
    assert impl.Fields().x == 2


def test_a_row_that_follows_another_calls_after_import_once(world: World) -> None:
    """Its wrapper moves onto what the earlier row brings, and its call is not made again."""
    follower = wrap("up.impl:C.m") + ", AfterImport('up.impl', call='note')"
    session = start(world, REPLACE_CLASS, follower)
    impl = importlib.import_module("up.impl")
    hold(session, "b", "a")
    assert impl.C().m() == ["b", "other of a"]
    assert impl.log == ["b"]


def test_a_wrapper_under_a_stranger_acts_once_when_an_heir_comes(world: World) -> None:
    """What the stranger calls is not wrapped a second time in the class that is brought."""
    session = start_rows(
        world,
        row("a", "patch_a", "Replace('up.impl:C', by='Inheriting')"),
        row("b", "patch_b", wrap("up.impl:C.m")),
        patch_a=INHERITING,
        patch_b=BODY.replace("ROW", "b"),
    )
    impl = importlib.import_module("up.impl")
    original = impl.C
    session.blocks.hold(["b"])
    wrapper = original.m
    original.m = lambda self: ["stranger", *wrapper(self)]
    session.blocks.hold(["a"])
    assert impl.C().m().count("b") == 1
    original.m = wrapper  # else it could not be undone


def test_a_part_let_go_while_its_whole_is_put_in_place_is_not_applied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that applies an earlier row does not put back what another has taken off."""
    session = start(world, REPLACE_CLASS, wrap("up.impl:C.m"))
    impl = importlib.import_module("up.impl")
    session.blocks.hold(["b"])
    is_made = threading.Event()
    is_let_go = threading.Event()
    repoint = CopiesPass.repoint

    def wait_and_repoint(self: CopiesPass, *arguments: Any) -> None:
        if threading.current_thread() is thread:
            is_made.set()
            is_let_go.wait(20)
        repoint(self, *arguments)

    monkeypatch.setattr(CopiesPass, "repoint", wait_and_repoint)
    thread = threading.Thread(target=session.blocks.hold, args=(["a"],))
    thread.start()
    assert is_made.wait(20)
    session.blocks.let_go(["b"])
    is_let_go.set()
    thread.join()
    assert impl.C().m() == ["other of a"]
    assert session.states["b"].status != "applied"


# -- other kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "result"),
    [
        (wrap("up.impl:instance.m"), ["a", "b"]),
        ("Replace('up.impl:instance.m', by='method')", ["b"]),
    ],
)
def test_a_replace_on_an_instance_acts_below_an_earlier_patch(
    world: World, first: str, result: list[str]
) -> None:
    """What the later row brings is called, and as a method of the instance."""
    session = start(world, first, "Replace('up.impl:instance.m', by='method')")
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    assert impl.instance.m() == result


def test_a_replaced_context_manager_is_one_below_a_wrapper(world: World) -> None:
    """A bare generator is made a context manager, although what is there is a wrapper."""
    session = start(
        world, "Wrap('up.impl:lent', by='plain')", "Replace('up.impl:lent', by='lent')"
    )
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    with impl.lent() as result:
        assert result == ["b"]


def test_a_replaced_cache_is_one_below_a_wrapper(world: World) -> None:
    """It can be emptied, although what is there is a wrapper."""
    session = start(world, wrap("up.impl:kept"), "Replace('up.impl:kept', by='kept')")
    impl = importlib.import_module("up.impl")
    hold(session, "a", "b")
    assert impl.kept() == ["a", "b"]
    impl.kept.cache_clear()


@pytest.mark.parametrize(
    ("below", "upper"),
    [("up.impl:Base.m", "up.impl:Heir.m"), ("up.impl:f", "up.api:f")],
)
def test_a_place_keeps_no_more_each_time(world: World, below: str, upper: str) -> None:
    """It drops former values, as often as what lies below it comes and goes."""
    session = start(world, wrap(below), wrap(upper))
    session.blocks.hold(["b"])
    for _ in range(20):
        session.blocks.hold(["a"])
        session.blocks.let_go(["a"])
    kept = [len(site.former_originals) + len(site.wrappers) for site in session.sites]
    assert max(kept) < 10


def test_a_stale_wrapper_of_a_re_export_is_told(world: World) -> None:
    """The journal names who keeps it, for it does not call what has come in below."""
    session = start(world, wrap("up.impl:f"), wrap("up.api:f"))
    api = importlib.import_module("up.api")
    session.blocks.hold(["b"])
    world.module("up.late", "from up import api\nKEPT = {'f': api.f}\n")
    importlib.import_module("up.late")
    session.blocks.hold(["a"])
    assert api.f() == ["b", "a", "f"]
    assert session.journal.entries[-1]["out_of_reach"] == ["up.late:KEPT['f']"]
