"""Functions of a body that say, at apply time, whether its changes apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import packages
from support.one_patch import MAIN, UPSTREAM, load
from support.packages import World, row

from patchkit import Role
from patchkit.runtime.process.patch_state import APPLIED, ARMED, SKIPPED

if TYPE_CHECKING:
    import pytest

    from patchkit.runtime.process.session import Session

world = packages.world


TWO_CHANGES = (
    "Replace('up.mod:function', by='function')",
    "Replace('up.other:value', by='value')",
)
VALUE = "value = 'new'\ndef function(): return 'new'\n"


def two_modules(world: World, *changes: str, asks: str, **fields: str) -> Session:
    """Return a session of a row over two modules, whose body also has the source `asks`."""
    world.module("up.mod", UPSTREAM)
    world.module("up.other", "value = 'old'")
    world.pack(
        row("p", "patch_a", *changes, **fields), patch_a=f"import sys\n{VALUE}{asks}"
    )
    session = world.session()
    session.arm(MAIN)
    return session


def with_when(change: str) -> str:
    """Return the source of a change with a `when` of its own."""
    return f"{change.removesuffix(')')}, when='when')"


def test_a_when_that_refuses_at_the_second_module_takes_the_first_back(
    world: World,
) -> None:
    """A `when` that refuses for a second module undoes the change of the first one."""
    asks = "def when(): return 'up.other' not in sys.modules or 'not beside other'"
    session = two_modules(world, *TWO_CHANGES, asks=asks, when="'when'")
    module = load("up.mod")
    assert module.function() == "new"
    assert load("up.other").value == "old"
    assert module.function() == "old"
    state = session.states["p"]
    assert (state.status, state.reason) == (SKIPPED, "not beside other")


def test_a_change_may_have_a_when_of_its_own(world: World) -> None:
    """A change whose own `when` refuses is left out and written; the other changes are made."""
    asks = "def when(): return 'other is fine here'"
    changes = TWO_CHANGES[0], with_when(TWO_CHANGES[1])
    session = two_modules(world, *changes, asks=asks)
    assert load("up.other").value == "old"
    assert load("up.mod").function() == "new"
    assert session.states["p"].status == APPLIED
    entries = session.journal.entries
    (left_out,) = [entry for entry in entries if entry["event"] == "left-out"]
    assert left_out["target"] == "up.other:value"
    assert left_out["reason"] == "other is fine here"


def test_a_row_whose_changes_are_all_left_out_is_skipped(world: World) -> None:
    """A row is armed until each of its changes has refused, and skipped then."""
    asks = "def when(): return 'fine'"
    changes = [with_when(change) for change in TWO_CHANGES]
    session = two_modules(world, *changes, asks=asks)
    assert load("up.mod").function() == "old"
    state = session.states["p"]
    assert state.status == ARMED
    assert load("up.other").value == "old"
    assert (state.status, state.reason) == (SKIPPED, "no change applies here: fine")


def test_a_when_of_a_change_that_gives_no_answer_fails_the_row(world: World) -> None:
    """A `when` of a change that returns None fails the row, and no change of it is made."""
    changes = TWO_CHANGES[0], with_when(TWO_CHANGES[1])
    session = two_modules(world, *changes, asks="def when(): ...", required="False")
    module = load("up.mod")
    assert load("up.other").value == "old"
    assert module.function() == "old"
    assert "when() of pack.patch_a returned None" in session.states["p"].reason


def test_what_was_skipped_is_asked_again_in_another_role(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that becomes another one may have an environment in which a patch applies."""
    world.module("up.mod", UPSTREAM)
    both = "{Role.MAIN, Role.ENGINE_CORE}"
    world.pack(
        row("env", "patch_a", TWO_CHANGES[0], roles=both, env="'LAB_FLAG'"),
        row("when", "patch_b", TWO_CHANGES[1], roles=both, when="'when'"),
        row("never", "patch_a", TWO_CHANGES[0], roles=both, requires="('up>=2',)"),
        patch_a=VALUE,
        patch_b=f"import os\n{VALUE}"
        "def when(): return 'LAB_FLAG' in os.environ or 'no flag'",
    )
    world.module("up.other", "value = 'old'")
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    assert (module.function(), load("up.other").value) == ("old", "old")
    assert {state.status for state in session.states.values()} == {SKIPPED}
    monkeypatch.setenv("LAB_FLAG", "1")
    session.become({Role.ENGINE_CORE})
    assert (module.function(), load("up.other").value) == ("new", "new")
    never = session.states["never"]
    assert (never.status, never.reason) == (SKIPPED, "up 1.0 is outside >=2")
