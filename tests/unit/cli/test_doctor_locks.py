"""What `patchkit doctor` says of locks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import BODY, REPLACE, UPSTREAM, WRAP
from support.packages import World, row
from support.reviews import review

from cli import doctored
from patchkit.cli import main
from patchkit.core.lock.format import read_lock, write_lock

if TYPE_CHECKING:
    from pathlib import Path


world = packages.world
healthy = doctored.healthy


def locks(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str]]:
    """Run `doctor`, and return mark, subject and message of each line about locks."""
    main(["doctor", "--format", "json", "--patches", "pack"])
    checks = json.loads(capsys.readouterr().out)["checks"]
    return [
        (check["mark"], check["subject"], check["message"])
        for check in checks
        if check["topic"] == "locks"
    ]


@pytest.fixture
def drifted(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of two patches, one of which changes what has another source now."""
    monkeypatch.setenv("PATCHKIT_VERSIONS", "up=1.0")
    world.module("up.mod", UPSTREAM)
    world.module("up.other", UPSTREAM)
    add = "Add('up.mod:more', by='function')"
    rows = [
        row("p", "patch_a", REPLACE, WRAP, add),
        row("q", "patch_a", "Wrap('up.other:function', by='by')", after="('p',)"),
        row("late", "patch_a", WRAP, requires="('up>=2',)", after="('p',)"),
    ]
    world.pack(*rows, patch_a=BODY)
    of_q = read_lock(review(world, "up.other:function", patch="q")).entries["q"]
    lock = review(world, "up.mod:function")
    write_lock(lock, read_lock(lock).with_patch("q", of_q))
    world.module("up.mod", UPSTREAM.replace("'old'", "'newer'"))
    return lock


def test_a_pack_without_a_lock_is_a_note(
    drifted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pack needs no lock: `doctor` notes that there is none, and does not warn."""
    drifted.unlink()
    ((mark, subject, message),) = locks(capsys)
    assert (mark, subject) == ("note", "pack")
    assert message.startswith("none: ")


def test_what_is_as_reviewed_is_counted(
    drifted: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pack that is unchanged since its review gets one line, which counts its patches."""
    world.module("up.mod", UPSTREAM)
    assert locks(capsys) == [
        ("ok", "pack", f"2 of 2 patches unchanged since review, {drifted}")
    ]


@pytest.mark.parametrize("policy", ["warn", "skip", "stop"])
def test_what_was_not_reviewed_is_a_warning(
    drifted: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
) -> None:
    """Drift is one warning for each patch, whatever the policy, and names each target once. Patches
    that are not for here are left out.
    """
    monkeypatch.setenv("PATCHKIT_ON_DRIFT", policy)
    pack_line, (mark, subject, message) = locks(capsys)
    assert pack_line == (
        "note",
        "pack",
        f"1 of 2 patches unchanged since review, {drifted}",
    )
    assert (mark, subject) == ("warn", "p")
    assert message.count("up.mod:function differs from the source last reviewed") == 1
    assert message.endswith(")")


@pytest.mark.parametrize("named", [True, False])
def test_a_lock_that_cannot_be_read_is_bad(
    drifted: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    named: bool,
) -> None:
    """A lock that is malformed, or named and missing, is bad, and the message names the file."""
    drifted.write_text("<<<<<<< ours")
    expected = f"{drifted}:1"
    if named:
        monkeypatch.setenv("PATCHKIT_LOCK", "/nowhere")
        expected = "'/nowhere'"
    ((mark, subject, message),) = locks(capsys)
    assert (mark, subject) == ("bad", "pack")
    assert expected in message
