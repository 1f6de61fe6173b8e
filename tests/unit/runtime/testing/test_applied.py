from __future__ import annotations

import itertools
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from support import blocks, packages
from support.blocks import trace
from support.one_patch import load

import patchkit
from patchkit import Role, applied
from patchkit.errors import ApplyError, UndoError
from patchkit.runtime.imports.finder import Finder
from patchkit.runtime.reach import arming

if TYPE_CHECKING:
    from support.packages import World

world = packages.world
upstream = blocks.upstream


# -- in a process that is not armed ---------------------------------------------------------------


def test_a_block_is_patched_and_nothing_after_it(world: World) -> None:
    """A worker's patch acts in a process without a role; then the very objects are back."""
    user = load("up.user")
    function = user.function
    before = trace()
    with applied("p"):
        assert load("up.mod").function() == user.function() == ("by", "old")
        assert load("up.mod").Thing().method() == "old"
        assert arming.current() is None
    assert load("up.mod").function is user.function is function
    assert trace() == before


@pytest.mark.processes
def test_it_is_in_the_vocabulary(world: World) -> None:
    """`from patchkit import applied`, which imports no session."""
    code = """
import json, sys
from patchkit import applied
own = ["patchkit.runtime.reach.arming", "patchkit.runtime.process.session"]
heavy = [*own, "importlib.metadata", "asyncio"]
print(json.dumps([name for name in heavy if name in sys.modules]))
"""
    assert world.answer(code) == []
    assert "applied" in patchkit.__all__
    with pytest.raises(AttributeError, match="'patchkit' has no attribute 'aplied'"):
        patchkit.aplied  # type: ignore[attr-defined]  # noqa: B018


def test_targets_are_imported(world: World) -> None:
    """Whoever names a patch has its change made, though nobody has imported the target yet."""
    with applied("p"):
        assert sys.modules["up.mod"].function() == ("by", "old")
        assert load("up.user").function() == ("by", "old")
    assert load("up.user").function() == "old"


def test_what_was_copied_within_the_block_goes_back(world: World) -> None:
    """A module that was imported meanwhile has the original afterwards."""
    with applied("p"):
        world.module("up.late", "from up.mod import function\n")
        assert load("up.late").function() == ("by", "old")
    assert load("up.late").function is load("up.mod").function
    assert load("up.late").function() == "old"


def test_several_names_and_several_times(world: World) -> None:
    """Each in its place; once more after it was undone."""
    block = applied("q", "p")
    for _ in range(3):
        with block:
            module = load("up.mod")
            assert (module.function(), module.Thing().method()) == (
                ("by", "old"),
                ("two", "old"),
            )
        assert (module.function(), module.Thing().method()) == ("old", "old")


def test_no_name_is_all_that_is_for_here(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are left out without a word, as in an armed process."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "broken,optional,elsewhere,asks,early")
    with applied():
        module = load("up.mod")
        assert (module.function(), module.Thing().method()) == (
            ("by", "old"),
            ("two", "old"),
        )
        assert load("up.llm").filled


def test_changes_that_come_before_an_import_wait_for_it(world: World) -> None:
    """A module is provided within the block, when it is imported, and not after it."""
    with applied("llm"):
        assert "up.llm" not in sys.modules
        assert load("up.llm").filled
    assert "up.llm" not in sys.modules
    with pytest.raises(ModuleNotFoundError):
        load("up.llm")
    load("up.mod")
    with pytest.raises(ApplyError, match="was imported before"), applied("early"):
        pass


def test_the_blocks_own_error_comes_out(world: World) -> None:
    """Undo runs all the same."""
    function = load("up.mod").function
    before = trace()
    with pytest.raises(KeyError, match="mine"), applied("p"):
        raise KeyError("mine")
    assert load("up.mod").function is function
    assert trace() == before


@pytest.mark.parametrize("own_error", [True, False])
def test_what_cannot_be_undone(world: World, own_error: bool) -> None:
    """Somebody overwrote the target: an error, unless the block has one of its own."""
    before = trace()
    foreign = object()

    def overwrite() -> None:
        with applied("p"):
            load("up.mod").function = foreign
            if own_error:
                raise KeyError

    with pytest.raises(KeyError if own_error else UndoError):
        overwrite()
    assert load("up.mod").function is foreign
    assert trace() == before


def test_finders_of_others_stay(world: World) -> None:
    """A finder that was installed within a block is there afterwards."""

    class Other:
        def find_spec(self, *_: object) -> None: ...

    stranger = Other()
    ours = {finder for finder in sys.meta_path if type(finder) is Finder}
    try:
        with ExitStack() as stack:
            stack.enter_context(applied("p"))
            sys.meta_path.insert(0, stranger)
            load("up.user")
        assert stranger in sys.meta_path
        assert {finder for finder in sys.meta_path if type(finder) is Finder} == ours
    finally:
        sys.meta_path.remove(stranger)


def test_roles_are_left_alone(world: World) -> None:
    """A block enters no role."""
    with applied("p"):
        assert arming._state.session is not None
        assert arming._state.session.roles == set[Role]()


# -- nested, overlapping, again -------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_overlapping_blocks_end_in_any_order(
    world: World, order: tuple[int, ...]
) -> None:
    """A patch is there as long as one block has it."""
    before = trace()
    module = load("up.mod")
    function = module.function
    method = module.Thing.method
    names = [("p",), ("p", "q"), ("q",)]
    blocks = [applied(*chosen) for chosen in names]
    for block in blocks:
        block.__enter__()
    entered = set(range(3))
    for number in order:
        blocks[number].__exit__(None, None, None)
        entered.discard(number)
        applied_now = set().union(*(names[block] for block in entered))
        assert (module.function is not function) is ("p" in applied_now)
        assert (module.Thing.method is not method) is ("q" in applied_now)
    assert trace() == before


def test_a_block_within_itself(world: World) -> None:
    """One object, entered twice."""
    block = applied("p")
    with block:
        with block:
            assert load("up.mod").function() == ("by", "old")
        assert load("up.mod").function() == ("by", "old")
    assert load("up.mod").function() == "old"


# -- packs that know the same name ----------------------------------------------------------------

PACKS = """
import json, up.mod
from patchkit import applied
from patchkit.errors import DeclarationError
said = []
def named(pack):
    with applied("same", packs=pack):
        said.append(up.mod.function())
with applied("p"):  # it holds the session, and has nothing to do with them
    named("one"), named("two"), named("one")
    with applied("same", packs="one"), applied("same", packs="one"):
        try:
            named("two")
        except DeclarationError as error:
            said.append(str(error))
        said.append(up.mod.function())
    named("two")
print(json.dumps(said))
"""


@pytest.mark.processes
def test_a_name_of_two_packs(world: World) -> None:
    """Each block has the patch of its own pack, one after the other; at once they are refused."""
    for name in ("one", "two"):
        body = f"def by(wrapped, instance, args, kwargs): return {name!r}\n"
        rows = packages.row("same", "patch_a", "Wrap('up.mod:function', by='by')")
        world.pack(rows, name=name, patch_a=body)
    *first, error, held, last = world.answer(PACKS)
    assert (first, held, last) == (["one", "two", "one"], "one", "two")
    assert error.startswith(
        "pack two, patch 'same', name: found the name of a patch of pack one"
    )
