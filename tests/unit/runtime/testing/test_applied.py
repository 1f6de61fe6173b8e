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
    """A patch of any role acts within its block; after it, the very objects of before are back."""
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
def test_applied_is_in_the_vocabulary(world: World) -> None:
    """`from patchkit import applied` works, and imports no session; a mistyped name is an error."""
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
    """A block makes its patches' changes, though nobody has imported the targets yet."""
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
    """A block applies all of its patches, and does so again each time that it is entered."""
    block = applied("q", "p")
    for _ in range(3):
        with block:
            module = load("up.mod")
            assert (module.function(), module.Thing().method()) == (
                ("by", "old"),
                ("two", "old"),
            )
        assert (module.function(), module.Thing().method()) == ("old", "old")


def test_a_block_without_names_applies_all_that_is_for_here(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block without names applies every patch that fits the process, and skips the others."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "broken,optional,elsewhere,asks,early")
    with applied():
        module = load("up.mod")
        assert (module.function(), module.Thing().method()) == (
            ("by", "old"),
            ("two", "old"),
        )
        assert load("up.llm").filled


def test_changes_that_come_before_an_import_wait_for_it(world: World) -> None:
    """A module is provided only within the block; a target that is imported already is an error."""
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
    """An error that a block raises comes out of it, and its patches are undone."""
    function = load("up.mod").function
    before = trace()
    with pytest.raises(KeyError, match="mine"), applied("p"):
        raise KeyError("mine")
    assert load("up.mod").function is function
    assert trace() == before


@pytest.mark.parametrize("own_error", [True, False])
def test_a_target_that_was_overwritten_within_a_block(
    world: World, own_error: bool
) -> None:
    """A block whose target was overwritten raises an UndoError, or its own error if it has one."""
    before = trace()
    foreign = object()

    def overwrite() -> None:
        with applied("p"):
            load("up.mod").function = foreign
            if own_error:
                raise KeyError

    expected = KeyError if own_error else UndoError
    with pytest.raises(expected):
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
    """A patch is applied as long as one of the blocks that name it has not ended."""
    before = trace()
    module = load("up.mod")
    function = module.function
    method = module.Thing.method
    names = [("p",), ("p", "q"), ("q",)]
    overlapping = [applied(*chosen) for chosen in names]
    for block in overlapping:
        block.__enter__()
    entered = set(range(3))
    for number in order:
        overlapping[number].__exit__(None, None, None)
        entered.discard(number)
        applied_now: set[str] = set()
        for remaining in entered:
            applied_now.update(names[remaining])
        assert (module.function is not function) is ("p" in applied_now)
        assert (module.Thing.method is not method) is ("q" in applied_now)
    assert trace() == before


def test_a_block_that_is_entered_within_itself(world: World) -> None:
    """A block that is entered twice has its patches applied until it ends for the second time."""
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
    """Blocks of two packs use the name one after the other; the two at once are refused."""
    for name in ("one", "two"):
        body = f"def by(wrapped, instance, args, kwargs): return {name!r}\n"
        rows = packages.row("same", "patch_a", "Wrap('up.mod:function', by='by')")
        world.pack(rows, name=name, patch_a=body)
    *first, error, held, last = world.answer(PACKS)
    assert (first, held, last) == (["one", "two", "one"], "one", "two")
    assert error.startswith(
        "pack two, patch 'same', name: found the name of a patch of pack one"
    )
