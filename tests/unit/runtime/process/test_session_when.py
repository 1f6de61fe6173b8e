"""What a body says at apply time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import packages
from support.one_patch import MAIN, UPSTREAM, load
from support.packages import World, row

from patchkit.runtime.process.patch_state import APPLIED, ARMED, SKIPPED

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world


TWO = (
    "Replace('up.mod:function', by='function')",
    "Replace('up.other:value', by='value')",
)
VALUE = "value = 'new'\ndef function(): return 'new'\n"


def two_modules(world: World, *changes: str, asks: str, **fields: str) -> Session:
    """A row over two modules, whose body answers questions."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", "value = 'old'")
    world.pack(
        row("p", "patch_a", *changes, **fields), patch_a=f"import sys\n{VALUE}{asks}"
    )
    session = world.session()
    session.arm(MAIN)
    return session


def test_a_when_that_refuses_at_the_second_module_takes_the_first_back(
    world: World,
) -> None:
    """All or none, also of what was there before the refusal."""
    asks = "def when(): return 'up.other' not in sys.modules or 'not beside other'"
    session = two_modules(world, *TWO, asks=asks, when="'when'")
    module = load("up.mod")
    assert module.function() == "new"
    assert (load("up.other").value, module.function()) == ("old", "old")
    state = session.states["p"]
    assert (state.status, state.reason) == (SKIPPED, "not beside other")


def test_a_change_may_have_a_when_of_its_own(world: World) -> None:
    """What it refuses is left out and told; the other changes of the row are made."""
    asks = "def when(): return 'other is fine here'"
    session = two_modules(world, TWO[0], f"{TWO[1][:-1]}, when='when')", asks=asks)
    assert (load("up.other").value, load("up.mod").function()) == ("old", "new")
    assert session.states["p"].status == APPLIED
    told = [entry for entry in session.journal.entries if entry["event"] == "left-out"]
    assert [(one["target"], one["reason"]) for one in told] == [
        ("up.other:value", "other is fine here")
    ]


def test_a_row_whose_changes_are_all_left_out_is_skipped(world: World) -> None:
    """It is not called applied where it has done nothing; before the last was asked, it waits."""
    asks = "def when(): return 'fine'"
    changes = [f"{change[:-1]}, when='when')" for change in TWO]
    session = two_modules(world, *changes, asks=asks)
    assert load("up.mod").function() == "old"
    state = session.states["p"]
    assert state.status == ARMED
    assert load("up.other").value == "old"
    assert (state.status, state.reason) == (SKIPPED, "no change applies here: fine")


def test_a_when_of_a_change_that_gives_no_answer_fails_the_row(world: World) -> None:
    """The question is one of the row's changes: without its answer none is made."""
    changes = TWO[0], f"{TWO[1][:-1]}, when='when')"
    session = two_modules(world, *changes, asks="def when(): ...", required="False")
    module = load("up.mod")
    assert (load("up.other").value, module.function()) == ("old", "old")
    assert "when() of pack.patch_a returned None" in session.states["p"].reason
