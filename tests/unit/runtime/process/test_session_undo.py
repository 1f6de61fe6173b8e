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
    """Two patches on one target come off separately."""
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
    """A class that two modules show is replaced in each; any order of undo restores it."""
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
    """Neither reload nor a role of others brings it back; who holds it does."""
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


def test_undo_tells_what_it_could_not_take_back(world: World) -> None:
    """Somebody overwrote the target: that is left, the rest is taken back."""
    a_world(world, REPLACE, "Replace('up.mod:Thing', by='function', unrelated=True)")
    session = lent(world)
    session.blocks.hold(["p"])
    module = load("up.mod")
    thing, module.function = module.Thing, "theirs"
    with pytest.raises(UndoError, match=r"up\.mod\.function was overwritten"):
        session.blocks.let_go(["p"])
    assert module.function == "theirs"
    assert module.Thing is not thing


def test_a_session_that_was_lent_leaves_no_trace(world: World) -> None:
    """Everything is taken back, and imports are watched no more."""
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


def test_a_name_that_no_patch_has(world: World) -> None:
    """Holding what there is not is an error that names what there is."""
    a_world(world)
    with pytest.raises(
        UnknownPatchError, match=r"found 'q', expected a patch's name: p"
    ):
        lent(world).blocks.hold(["q"])


@pytest.mark.parametrize("change", [REPLACE, WRAP, "Add('up.mod:new', by='function')"])
def test_cycles_leave_nothing(world: World, change: str) -> None:
    """Apply and undo, however often, keep no object; the journal has a bound of its own."""
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
    assert objects_after(12) - before < 10, "one a cycle"


def lent(world: World) -> Session:
    """A session as a block borrows it: in no role."""
    session = world.session()
    session.arm(frozenset(), lent=True)
    return session


@pytest.mark.parametrize("change", [REPLACE, WRAP])
@pytest.mark.parametrize("is_copied", [False, True])
def test_an_undo_looks_for_copies_where_there_may_be_one(
    world: World, monkeypatch: pytest.MonkeyPatch, change: str, is_copied: bool
) -> None:
    """What only the target and the body referred to was not copied; no module is looked through."""
    session = a_world(world, change)
    world.module(
        "up.user", "from up.mod import function" if is_copied else "function = None"
    )
    session.arm(MAIN)
    module = load("up.mod")
    user = load("up.user")
    searches = count_searches(monkeypatch)
    session.become([])
    assert module.function() == "old"
    assert user.function is (module.function if is_copied else None)
    assert bool(searches) is is_copied


def test_nothing_is_looked_for_where_nothing_is_taken_back(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that takes new roles, and has nothing applied for others, looks for no copies."""
    session = a_world(world)
    session.arm(MAIN)
    new = load("up.mod").function
    searches = count_searches(monkeypatch)
    session.become(MAIN)
    assert load("up.mod").function is new
    assert searches == []


def count_searches(monkeypatch: pytest.MonkeyPatch) -> list[CopySearch]:
    """List the searches that look through modules from now on."""
    searches: list[CopySearch] = []
    look_through = CopySearch.through

    def through(search: CopySearch, modules: Iterable[str]) -> Iterator[Holder]:
        searches.append(search)
        return look_through(search, modules)

    monkeypatch.setattr(CopySearch, "through", through)
    return searches
