"""What packs owe: what each patch is still needed for, and since when it is there."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

from analysis.check.released import no_own_packs, subject
from patchkit.analysis.check.checking import Check
from patchkit.analysis.check.debt import debt_of
from patchkit.analysis.check.packs import read_packs
from patchkit.core.lock.format import Lock
from patchkit.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

    from patchkit.analysis.check.debt import Debt

__all__ = ["world"]

pytestmark = pytest.mark.processes  # git is asked for each patch

FUNCTION = "def {}(x):\n    return x {} 1\n"
EDIT = "Edit('up.mod:{}', old='x - 1', new='x + 1')"


def owed(
    world: World, monkeypatch: pytest.MonkeyPatch, **ranges: str
) -> dict[str, Debt]:
    no_own_packs(monkeypatch)
    rows = [
        row(name, "patch_a", EDIT.format(name), requires=f"('{text}',)")
        for name, text in ranges.items()
    ]
    world.pack(*rows, patch_a="")
    found = list(read_packs(Settings(), ["pack"])[0])
    texts = ["".join(FUNCTION.format(name, sign) for name in ranges) for sign in "-+"]
    releases = [subject(f"{at}.0", mod=texts[at > 3]) for at in range(1, 5)]
    report = Check(found, releases, Lock(), {}).run()
    return {row.name: debt_of(row, report) for row in found}


def test_when_a_patch_may_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, after the last release that needs it, where upstream has it, or not yet."""
    found = owed(
        world, monkeypatch, past="up<1", ended="up<3", merged="up>=3", wide="up<4"
    )
    assert {name: one.end for name, one in found.items()} == {
        "past": "now",
        "ended": "after up 2.0",
        "merged": "up 4.0 has it",
        "wide": "after up 3.0",
    }
    assert found["ended"].needed == ["up 1.0", "up 2.0"]
    assert found["ended"].until == "up 3.0"


def test_since_when_a_patch_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the commit that wrote its name; nothing where there is no repository."""
    assert owed(world, monkeypatch, young="up<3")["young"].since == ""
    folder: Path = world.folder
    who = (
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@x.example",
        "-c",
        "commit.gpgsign=false",
    )
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Rows"]):
        subprocess.run(["git", *who, *words], cwd=folder, check=True)
    assert owed(world, monkeypatch, young="up<3")["young"].since == "2026-01-02"
