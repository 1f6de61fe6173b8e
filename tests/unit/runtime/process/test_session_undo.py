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
from patchkit.runtime.process.patch_state import ARMED

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
