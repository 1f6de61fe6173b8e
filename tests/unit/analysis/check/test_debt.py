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
    """What rows owe, one for each range; `up` 4.0 has the fix of each, 1.0 to 3.0 lack it."""
    no_own_packs(monkeypatch)
    sources = [
        row(name, "patch_a", EDIT.format(name), requires=f"('{text}',)")
        for name, text in ranges.items()
    ]
    world.pack(*sources, patch_a="")
    rows, _ = read_packs(Settings(), ["pack"])
    unfixed = "".join(FUNCTION.format(name, "-") for name in ranges)
    fixed = "".join(FUNCTION.format(name, "+") for name in ranges)
    releases = [subject(f"{number}.0", mod=unfixed) for number in (1, 2, 3)]
    releases.append(subject("4.0", mod=fixed))
    report = Check(list(rows), releases, Lock(), {}).run()
    return {row.name: debt_of(row, report) for row in rows}


def test_when_a_patch_may_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A patch may go at once, after the last release that needs it, or where upstream has it."""
    debts = owed(
        world, monkeypatch, past="up<1", ended="up<3", merged="up>=3", wide="up<4"
    )
    assert {name: debt.end for name, debt in debts.items()} == {
        "past": "now",
        "ended": "after up 2.0",
        "merged": "up 4.0 has it",
        "wide": "after up 3.0",
    }
    assert debts["ended"].needed == ["up 1.0", "up 2.0"]
    assert debts["ended"].until == "up 3.0"


def test_since_when_a_patch_is_there(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A patch is there since the commit that wrote its name; without a repository, since ''."""
    assert owed(world, monkeypatch, young="up<3")["young"].since == ""
    folder: Path = world.folder
    options = (
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@x.example",
        "-c",
        "commit.gpgsign=false",
    )
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Rows"]):
        subprocess.run(["git", *options, *arguments], cwd=folder, check=True)
    assert owed(world, monkeypatch, young="up<3")["young"].since == "2026-01-02"
