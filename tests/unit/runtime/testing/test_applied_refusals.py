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
    ("name", "said"),
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
def test_a_patch_that_cannot_be_applied(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    said: str,
    policy: str,
    late: bool,
) -> None:
    """An error that says why, whatever the policy; the others of the block come off again."""
    monkeypatch.setenv("PATCHKIT_ON_FAILURE", policy)
    before = trace()
    if late:
        load("up.mod")
    with pytest.raises(ApplyError, match=said) as caught, applied("p", name):
        pytest.fail("the block ran")
    assert load("up.mod").function() == "old"
    assert trace() == before
    if "failed" in said or "imported" in said:
        assert caught.value.__cause__ is not None
    with applied("p"):  # and nothing of it is left
        assert load("up.mod").function() == ("by", "old")


def test_switched_off_by_hand(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """PATCHKIT_DISABLE, PATCHKIT_ONLY and PATCHKIT=0 are said, not obeyed in silence."""
    monkeypatch.setenv("PATCHKIT_DISABLE", "p")
    with pytest.raises(
        ApplyError, match="p does not apply here: disabled by PATCHKIT_DISABLE"
    ):
        applied("p").__enter__()
    monkeypatch.setenv("PATCHKIT", "0")
    with pytest.raises(SettingsError, match="PATCHKIT is '0'"):
        applied("p").__enter__()
    assert arming._state.borrowers == 0


def test_a_version_that_says_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error asks for the version."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=0.1.dev5+g123")
    before = trace()
    with pytest.raises(VersionError, match="PATCHKIT_VERSIONS=up=release"):
        applied("p").__enter__()
    assert trace() == before


def test_an_unknown_name(world: World) -> None:
    """A typing error names what there is."""
    before = trace()
    with pytest.raises(
        UnknownPatchError, match=r"'pp', expected a patch's name: .*p, q"
    ):
        applied("pp").__enter__()
    assert trace() == before


def test_two_that_conflict(world: World) -> None:
    """Together they are refused; one alone is not disturbed by the other's being there."""
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
    """Its rows are known within the block only, and its other patches stay off."""
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


def test_a_pack_that_cannot_be_read(world: World) -> None:
    """The error is the registry's, and nothing stays behind."""
    before = trace()
    with pytest.raises(DeclarationError, match="pack gone, import"):
        applied("p", packs="gone").__enter__()
    with applied("p"), pytest.raises(DeclarationError):
        applied("p", packs="gone").__enter__()
    assert trace() == before
