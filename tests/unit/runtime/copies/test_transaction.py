from __future__ import annotations

from typing import Any

import pytest
from support import packages
from support.one_patch import BODY, MAIN, REPLACE, UPSTREAM, WRAP, load
from support.packages import World, row

from patchkit.errors import ApplyError
from patchkit.runtime.copies import repointing
from patchkit.runtime.process.patch_state import FAILED

world = packages.world


@pytest.mark.parametrize("times", [1, 2])
def test_a_pass_that_fails_takes_the_patches_back(
    world: World, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """All patches of the pass have failed, and target and copies are the original again."""
    world.module("up.mod", UPSTREAM)
    world.module("up.user", "from up.mod import function")
    world.pack(
        row("good", "patch_a", WRAP),
        row("bad", "patch_b", REPLACE),
        patch_a=BODY,
        patch_b=BODY,
    )
    user = load("up.user")
    module = load("up.mod")
    original = module.function
    session = world.session()
    faults = [ValueError("fault")] * times

    def write(*args: Any, _write: Any = repointing._Pass._write) -> None:
        _write(*args)
        if faults:
            raise faults.pop()

    monkeypatch.setattr(repointing._Pass, "_write", write)
    with pytest.raises(ApplyError, match="ValueError: fault"):
        session.arm(MAIN)
    assert module.function is user.function is original
    assert {state.status for state in session.states.values()} == {FAILED}
