"""What blocks hold, and what is left once they let go."""

from __future__ import annotations

import sys

import packages
import pytest
from one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, a_world, load
from packages import World, row

from patchkit.errors import ApplyError
from patchkit.process.patch_state import APPLIED, ARMED, SKIPPED

world = packages.world

ASKS = """
import os
def wanted(): return True if "UP_FEATURE" in os.environ else "the feature is off"
def by(wrapped, instance, args, kwargs): return ('by', wrapped(*args, **kwargs))
"""


def test_a_block_within_a_block(world: World) -> None:
    """The inner one's end changes nothing; that of the outer one leaves the patch as it was."""
    session = a_world(world, WRAP, roles="{Role.WORKER}")
    session.arm(MAIN)
    session.hold(["p"])
    session.hold(["p"])
    session.let_go(["p"])
    assert (load("up.mod").function(), session.states["p"].status) == (("by", "old"), APPLIED)
    session.let_go(["p"])
    assert (load("up.mod").function(), session.states["p"].status) == ("old", ARMED)


def test_a_block_has_a_patch_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a `when` refused may be wanted by now; after the block it is as it was told before."""
    world.module("up.mod", UPSTREAM)
    world.pack(row("p", "patch_a", WRAP, when="'wanted'"), patch_a=ASKS)
    session = world.session()
    session.arm(MAIN)
    module = load("up.mod")
    assert (module.function(), session.states["p"].status) == ("old", SKIPPED)
    with pytest.raises(ApplyError, match="p does not apply here: the feature is off"):
        session.hold(["p"])
    monkeypatch.setenv("UP_FEATURE", "1")
    session.hold(["p"])
    assert module.function() == ("by", "old")
    session.let_go(["p"])
    state = session.states["p"]
    assert (module.function(), state.status, state.reason) == ("old", SKIPPED, "the feature is off")


def test_a_block_of_what_a_role_has(world: World) -> None:
    """A patch that the process has anyway stays applied after the block."""
    session = a_world(world, WRAP)
    session.arm(MAIN)
    module = load("up.mod")
    session.hold(["p"])
    session.let_go(["p"])
    assert (module.function(), session.states["p"].status) == (("by", "old"), APPLIED)


def test_a_block_without_names(world: World) -> None:
    """All that are for here, and they alone; who asked is told which, to let them go."""
    world.module("up.mod", UPSTREAM)
    unmet = row("q", "patch_a", REPLACE, requires="('up>=2',)")
    world.pack(row("p", "patch_a", WRAP, roles="{Role.WORKER}"), unmet, patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    assert session.hold([]) == ("p",)
    assert load("up.mod").function() == ("by", "old")
    session.let_go(["p"])
    assert load("up.mod").function() == "old"


def test_a_block_with_a_patch_that_is_not_for_here(world: World) -> None:
    """It is refused before anything of the others is done."""
    world.module("up.mod", UPSTREAM)
    unmet = row("q", "patch_a", REPLACE, requires="('up>=2',)")
    world.pack(row("p", "patch_a", WRAP), unmet, patch_a=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    with pytest.raises(ApplyError, match=r"q does not apply here: up 1\.0 is outside >=2"):
        session.hold(["p", "q"])
    assert not {"up.mod", "pack.patch_a"} & sys.modules.keys()
    assert session.states["p"].holders == 0
