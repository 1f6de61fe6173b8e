from __future__ import annotations

import gc
import importlib
import sys
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from support.packages import World, row

from patchkit import Role
from patchkit.errors import UndoError, UnknownPatchError
from patchkit.runtime.copies.search import CopySearch
from patchkit.runtime.process.patch_state import APPLIED, ARMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.runtime.copies.scope import Holder
    from patchkit.runtime.process.session import Session

world = packages.world


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_undo_in_any_order_restores_the_very_objects(
    world: World, order: tuple[str, ...]
) -> None:
    """Two patches on one target come off in any order, and the very original is back."""
    world.module("up.mod", UPSTREAM)
    world.module("up.user", "from up.mod import function")
    world.pack(
        row("one", "patch_a", REPLACE),
        row("two", "patch_b", WRAP),
        patch_a=BODY,
        patch_b="def by(w, i, a, k): return ('two', w())",
    )
    original = load("up.user").function
    session = lent(world)
    session.blocks.hold(["one", "two"])
    assert load("up.mod").function() == ("two", ("new", "old"))
    for name in order:
        session.blocks.let_go([name])
        assert session.states[name].status == ARMED
    assert load("up.mod").function is load("up.user").function is original


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
@pytest.mark.parametrize("late", [True, False])
def test_two_patches_on_two_names_of_one_class(
    world: World, order: tuple[str, ...], late: bool
) -> None:
    """A class under two names is replaced in both modules, and undone in any order."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", "from up.mod import Thing")
    body = "from up.mod import Thing\nclass New(Thing): ...\n"
    world.pack(
        row("one", "patch_a", "Replace('up.mod:Thing', by='New')"),
        row("two", "patch_b", "Replace('up.other:Thing', by='New')", after="('one',)"),
        patch_a=body,
        patch_b="from pack.patch_a import New",
    )
    if late:
        load("up.other")
    session = lent(world)
    session.blocks.hold(["one", "two"])
    other = load("up.other")
    assert other.Thing is load("up.mod").Thing is load("pack.patch_a").New
    original = load("pack.patch_a").Thing
    for name in order:
        session.blocks.let_go([name])
    assert other.Thing is load("up.mod").Thing is original


def test_a_patch_that_was_let_go_stays_off(world: World) -> None:
    """After its block, a patch stays off through a reload and other roles, until the next block."""
    session = a_world(world, WRAP, roles="{Role.WORKER}")
    session.arm(MAIN)
    module = load("up.mod")
    session.blocks.hold(["p"])
    assert module.function() == ("by", "old")
    session.blocks.let_go(["p"])
    importlib.reload(module)
    session.enter(Role.ENGINE_CORE)
    assert module.function() == "old"
    session.blocks.hold(["p"])
    assert module.function() == ("by", "old")


def test_undo_raises_where_the_target_was_overwritten(world: World) -> None:
    """Undo leaves a target that somebody has overwritten, and undoes the other changes."""
    a_world(world, REPLACE, "Replace('up.mod:Thing', by='function', unrelated=True)")
    session = lent(world)
    session.blocks.hold(["p"])
    module = load("up.mod")
    patched_class = module.Thing
    module.function = "theirs"
    with pytest.raises(UndoError, match=r"up\.mod\.function was overwritten"):
        session.blocks.let_go(["p"])
    assert module.function == "theirs"
    assert module.Thing is not patched_class


def test_a_session_that_was_lent_leaves_no_trace(world: World) -> None:
    """After `stand_down`, targets and `sys.meta_path` are as before, and imports are original."""
    finders = list(sys.meta_path)
    a_world(world)
    session = lent(world)
    session.blocks.hold(["p"])
    module = load("up.mod")
    session.blocks.let_go(["p"])
    session.stand_down()
    assert module.function() == "old"
    assert sys.meta_path == finders
    del sys.modules["up.mod"]
    assert load("up.mod").function() == "old"


def test_holding_an_unknown_name(world: World) -> None:
    """Holding an unknown name raises an error that lists the known names."""
    a_world(world)
    with pytest.raises(
        UnknownPatchError, match=r"found 'q', expected a patch's name: p"
    ):
        lent(world).blocks.hold(["q"])


@pytest.mark.parametrize("change", [REPLACE, WRAP, "Add('up.mod:new', by='function')"])
def test_cycles_of_apply_and_undo_leave_no_objects(world: World, change: str) -> None:
    """Apply and undo keep no object alive, however often; the journal has its own bound."""
    a_world(world, change)
    session = lent(world)
    load("up.mod")

    def objects_after(cycles: int) -> int:
        for _ in range(cycles):
            session.blocks.hold(["p"])
            session.blocks.let_go(["p"])
        session.journal.entries.clear()
        gc.collect()
        return len(gc.get_objects())

    before = objects_after(3)
    # Other threads of the test run make a dozen objects meanwhile.
    assert objects_after(50) - before < 40, "one a cycle"


def lent(world: World) -> Session:
    """Return a session as a block borrows it: armed, in no role."""
    session = world.session()
    session.arm(frozenset(), lent=True)
    return session


@pytest.mark.parametrize("change", [REPLACE, WRAP])
@pytest.mark.parametrize("is_copied", [False, True])
def test_an_undo_looks_for_copies_where_there_may_be_one(
    world: World, monkeypatch: pytest.MonkeyPatch, change: str, is_copied: bool
) -> None:
    """An undo searches modules for copies only where something else refers to the function."""
    session = a_world(world, change)
    source = "from up.mod import function" if is_copied else "function = None"
    world.module("up.user", source)
    session.arm(MAIN)
    module = load("up.mod")
    user = load("up.user")
    searches = count_searches(monkeypatch)
    session.become([])
    assert module.function() == "old"
    expected = module.function if is_copied else None
    assert user.function is expected
    assert bool(searches) is is_copied


def test_no_copies_are_searched_where_nothing_is_undone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that becomes its own roles, and undoes nothing, searches for no copies."""
    session = a_world(world)
    session.arm(MAIN)
    new = load("up.mod").function
    searches = count_searches(monkeypatch)
    session.become(MAIN)
    assert load("up.mod").function is new
    assert searches == []


def count_searches(monkeypatch: pytest.MonkeyPatch) -> list[CopySearch]:
    """Return a list that gets each search through modules from now on."""
    searches: list[CopySearch] = []
    look_through = CopySearch.through

    def through(search: CopySearch, modules: Iterable[str]) -> Iterator[Holder]:
        searches.append(search)
        return look_through(search, modules)

    monkeypatch.setattr(CopySearch, "through", through)
    return searches


# -- in a process of another role ------------------------------------------------------------------


def kept_by_an_engine_core(session: Session) -> dict[str, list[str]]:
    """Have a main process become an engine core, as a fork does; return what its journal names."""
    session.become({Role.ENGINE_CORE})
    entries = [entry for entry in session.journal.entries if entry["event"] == "kept"]
    return {entry["name"]: entry["holders"] for entry in entries}


BOTH = "{Role.MAIN, Role.ENGINE_CORE}"


def test_what_import_calls_have_done_is_told_where_it_stays(world: World) -> None:
    """A call without an undo, and one whose undo raises, are named; one that is undone is not."""
    world.module("up.mod", "log = []")
    world.pack(
        row("before", "patch_a", "BeforeImport('up.mod', call='before')"),
        row("lasting", "patch_a", "AfterImport('up.mod', call='lasting')"),
        row("raising", "patch_a", "AfterImport('up.mod', call='raising')"),
        row("undone", "patch_a", "AfterImport('up.mod', call='undone')"),
        patch_a="""
        def before(): ...
        def lasting(module): module.log.append("lasting")
        def raising(module): return lambda: 1 / 0
        def undone(module):
            module.log.append("undone")
            return module.log.pop
        """,
    )
    session = world.session()
    session.arm(MAIN)
    assert load("up.mod").log == ["lasting", "undone"]
    assert kept_by_an_engine_core(session) == {
        "before": ["what before() has done (it returned no undo)"],
        "lasting": ["what lasting() has done (it returned no undo)"],
        "raising": ["what its undo has left (division by zero)"],
    }
    assert load("up.mod").log == ["lasting"]


def test_edits_that_another_edit_builds_on_are_told(world: World) -> None:
    """An edit that cannot be taken out from below another one is named with the reason."""
    world.module("up.mod", "def function():\n    return 1\n")
    world.pack(
        row("one", "patch_a", "Edit('up.mod:function', old='1', new='2')"),
        row("two", "patch_a", "Edit('up.mod:function', old='2', new='3')", roles=BOTH),
        patch_a="",
    )
    session = world.session()
    session.arm(MAIN)
    assert load("up.mod").function() == 3
    ((name, holders),) = kept_by_an_engine_core(session).items()
    assert name == "one"
    assert "stays in effect until the edit is undone that builds on it" in holders[0]
    assert session.states["two"].status == APPLIED


def test_subclasses_that_were_made_with_a_field_are_told(world: World) -> None:
    """A dataclass that was derived while a field was there has it still; an earlier one has not."""
    world.module(
        "up.mod",
        """
        from dataclasses import dataclass
        @dataclass
        class Base: a: int = 1
        @dataclass
        class Early(Base): b: int = 2
        """,
    )
    world.module(
        "up.late",
        """
        from dataclasses import dataclass
        from up.mod import Base
        @dataclass
        class Late(Base): c: int = 3
        """,
    )
    change = "AddField('up.mod:Base', 'new', 'int', default=0)"
    world.pack(row("p", "patch_a", change), patch_a="")
    session = world.session()
    session.arm(MAIN)
    assert load("up.late").Late(new=1).new == load("up.mod").Early(new=1).new == 1
    assert kept_by_an_engine_core(session) == {"p": ["up.late:Late (derives from it)"]}


@pytest.mark.parametrize("disabled", [(), ("outer",)])
def test_a_wrapper_below_another_patch_is_told(
    world: World, disabled: tuple[str, ...]
) -> None:
    """A container that holds a wrapper on which another patch lay names the wrapper's patch."""
    world.module("up.mod", UPSTREAM)
    world.module(
        "up.user", "from up.mod import function as other\nTABLE = {'k': other}"
    )
    world.pack(
        row("inner", "patch_a", WRAP),
        row("outer", "patch_a", "Wrap('up.user:other', by='by')"),
        patch_a=BODY,
    )
    session = world.session(disabled=disabled)
    session.arm(MAIN)
    assert load("up.user").TABLE["k"]() == ("by", "old")
    assert kept_by_an_engine_core(session) == {"inner": ["up.user:TABLE['k']"]}


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_patch_of_a_provided_module_waits_for_it_again(
    world: World, names: tuple[str, str]
) -> None:
    """Once the module is gone its patch is armed, whichever row comes first."""
    provide, wrap = names
    change = "Wrap('up.extra:function', by='by')"
    world.module("up.mod", UPSTREAM)
    rows = {
        provide: row(provide, "patch_a", "Provide('up.extra', by='names')"),
        wrap: row(wrap, "patch_b", change, roles=BOTH),
    }
    world.pack(
        rows["a"],
        rows["b"],
        patch_a="names = ['function']\ndef function(): return 'new'",
        patch_b=BODY,
    )
    session = world.session()
    session.arm(MAIN)
    assert load("up.extra").function() == ("by", "new")
    assert session.states[wrap].status == APPLIED
    session.become({Role.ENGINE_CORE})
    assert "up.extra" not in sys.modules
    assert session.states[wrap].status == ARMED
    session.become({Role.MAIN})
    assert load("up.extra").function() == ("by", "new")
    assert session.states[wrap].status == APPLIED
