"""Releases of `up` as wheels, a pack that patches it, and `patchkit rebase` on both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import find_only_in, no_own_packs, write_wheels
from support.packages import world

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = [
    "EDIT",
    "OLD",
    "PLAIN",
    "RELEASES",
    "TEXTS",
    "rebased",
    "rows",
    "shop",
    "world",
]

OLD = """\
LIMIT = 3


def plain(alpha, beta):
    '''Words.'''
    first = alpha + 1
    second = beta + 2
    third = first * second
    return third


class Box:
    def take(self, one):
        size = len(one)
        if size > 3:
            raise ValueError
        kept = list(one)
        return kept


def gone():
    return 1


def other(one):
    return one
"""
NEW = (
    OLD.replace("beta + 2", "helper(beta)")
    .replace("kept = list(one)", "kept = sorted(one)")
    .replace("def plain", "def helper(one):\n    return one + 2\n\n\ndef plain")
    .replace("def gone():\n    return 1", "from up.late import gone")
    .replace(
        "def other(one):\n    return one", "def other(one):\n    return [one, LIMIT]"
    )
)
RELEASES = {
    "1.0": {"mod": OLD, "late": ""},
    "1.1": {"mod": OLD + "\n", "late": ""},
    "2.0": {"mod": NEW, "late": "def gone():\n    return 1\n"},
}
PLAIN = """\
def plain(alpha, beta):
    first = alpha + 1
    second = beta + 2
    third = first * second
    return third + 100
"""
EDIT = "Edit('up.mod:Box.take', old='size > 3', new='size > 30')"
TEXTS = {"why": "'w'", "upstream": "'u'", "sunset": "'s'", "requires": "('up>=1,<2',)"}


@pytest.fixture(autouse=True)
def shop(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    write_wheels(tmp_path / "wheels", RELEASES)
    find_only_in(monkeypatch, tmp_path / "wheels")
    monkeypatch.setenv("PATCHKIT_PATCHES", "pack")
    monkeypatch.chdir(tmp_path)
    (world.folder / "pack").mkdir()


def rebased(
    capsys: pytest.CaptureFixture[str], *words: str, code: int = 0
) -> dict[str, dict[str, Any]]:
    """Run `rebase` to 2.0, check its exit code, and return its report of each row, by name."""
    selection = words or ("--all",)
    assert main(["rebase", *selection, "--to", "2.0", "--format", "json"]) == code
    patches = json.loads(capsys.readouterr().out)["patches"]
    return {patch["name"]: patch for patch in patches}


def rows(world: World) -> str:
    """What the pack says, without layout."""
    text = (world.folder / "pack" / "__init__.py").read_text()
    return "".join(text.split()).replace('"', "'")
