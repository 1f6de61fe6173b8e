from __future__ import annotations

from typing import Any

import pytest
from support import blocks, packages
from support.blocks import BODY, trace
from support.one_patch import load
from support.packages import World, row

from patchkit import applied
from patchkit.errors import (
    ApplyError,
    DeclarationError,
    SettingsError,
    UnknownPatchError,
    VersionError,
)
from patchkit.runtime.reach import arming

world = packages.world
upstream = blocks.upstream


# -- what is no silent nothing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("old", "patch old does not apply here: up 1.0 is outside <1"),
        ("absent", "patch absent does not apply here: no-such-dist is not installed"),
        ("asks", "patch asks does not apply here: not today"),
        ("env", "patch env does not apply here: ACME_FLAG is not set"),
        (
            "broken",
            r"patch broken \(pack.patch_a\) failed: TargetError: target up.mod:gone",
        ),
        (
            "optional",
            r"patch optional \(pack.patch_a\) failed: TargetError: target up.mod:gone",
        ),
        (
            "elsewhere",
            "patch elsewhere: its target's module gone.mod cannot be imported",
        ),
    ],
)
@pytest.mark.parametrize("policy", ["stop", "warn"])
@pytest.mark.parametrize("late", [True, False])
def test_a_patch_that_cannot_be_applied_is_an_error(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    message: str,
    policy: str,
    late: bool,
) -> None:
    """The error says why, whatever the policy; the block's other patches are undone."""
    monkeypatch.setenv("PATCHKIT_ON_FAILURE", policy)
    before = trace()
    if late:
        load("up.mod")
    with pytest.raises(ApplyError, match=message) as caught, applied("p", name):
        pytest.fail("the block ran")
    assert load("up.mod").function() == "old"
    assert trace() == before
    if "failed" in message or "imported" in message:
        assert caught.value.__cause__ is not None
    with applied("p"):  # nothing of the failure is left
        assert load("up.mod").function() == ("by", "old")


def test_a_block_of_a_patch_that_is_switched_off_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block with a patch that PATCHKIT_DISABLE or PATCHKIT=0 switches off is an error."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "p")
    with pytest.raises(
        ApplyError, match="p does not apply here: disabled by PATCHKIT_DISABLE"
    ):
        applied("p").__enter__()
    monkeypatch.setenv("PATCHKIT", "0")
    with pytest.raises(SettingsError, match="PATCHKIT is '0'"):
        applied("p").__enter__()
    assert arming._state.borrowers == 0


def test_a_version_that_names_no_release_is_an_error(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block whose upstream's version names no release raises an error that asks for it."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=0.1.dev5+g123")
    before = trace()
    with pytest.raises(VersionError, match="PATCHKIT_VERSIONS=up=release"):
        applied("p").__enter__()
    assert trace() == before


def test_an_unknown_name_is_an_error(world: World) -> None:
    """A block with a name that no patch has raises an error that lists the names."""
    before = trace()
    with pytest.raises(
        UnknownPatchError, match=r"'pp', expected a patch's name: .*p, q"
    ):
        applied("pp").__enter__()
    assert trace() == before


def test_two_patches_that_conflict(world: World) -> None:
    """Two patches that conflict are refused in one block; each is applied in a block of its own."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')", conflicts="('q',)"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')"),
        patch_a=BODY,
    )
    with applied("p"):
        assert load("up.mod").function() == ("by", "old")
    with applied("q"):
        assert load("up.mod").function() == ("two", "old")
    with pytest.raises(ApplyError, match="conflicts with"), applied("p", "q"):
        pass


# -- packs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("packs", ["other", ("other",), ["other"]])
def test_a_pack_that_is_not_installed(world: World, packs: Any) -> None:
    """Rows of `packs` are known within the block only, and those not named stay unapplied."""
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='by')"),
        row("o2", "patch_o", "Wrap('up.mod:Thing.method', by='by')"),
        name="other",
        patch_o=BODY,
    )
    with applied("o", packs=packs), applied("q"):
        assert load("up.mod").function() == ("by", "old")
        assert load("up.mod").Thing().method() == ("two", "old")
    with pytest.raises(UnknownPatchError):
        applied("o").__enter__()
    with applied("q"), applied("o", "p", packs=packs):
        assert load("up.mod").function() == ("by", ("by", "old"))
    assert arming._state.session is None


def test_a_pack_that_cannot_be_read_is_an_error(world: World) -> None:
    """A block with such a pack raises the registry's error, and leaves nothing behind."""
    before = trace()
    with pytest.raises(DeclarationError, match="pack gone, import"):
        applied("p", packs="gone").__enter__()
    with applied("p"), pytest.raises(DeclarationError):
        applied("p", packs="gone").__enter__()
    assert trace() == before
