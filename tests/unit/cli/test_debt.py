"""`list --debt` over wheels that the tests write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.packages import row, world

from cli.shelves import BODY, answer, shop
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]

pytestmark = pytest.mark.processes  # git is asked for each patch

EDIT = "Edit('up.mod:f', old='alpha +', new='alpha *')"
DEBT = ("list", "--debt", "--patches", "pack", "--releases", "up")


@pytest.fixture(autouse=True)
def pack(shop: None, world: World) -> None:
    """A patch for one release of three, and one that no release needs."""
    texts = {
        "why": "'it adds | more'",
        "upstream": "'https://x.example/1'",
        "sunset": "'s'",
    }
    world.pack(
        row("half", "patch_a", EDIT, requires="('up<2',)", **texts),
        row("gone", "patch_a", EDIT, requires="('up<1',)"),
        patch_a=BODY,
    )


def test_debt_has_the_same_facts_in_each_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The table, Markdown, JSON and the badge of `list --debt` agree on what may go."""
    assert main([*DEBT]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].split()[0:6] == ["half", "-", "1", "after", "up", "1.0"]
    assert out.endswith("2 patches, 1 may go\n")
    assert main([*DEBT, "--format", "markdown"]) == 0
    line = "| half | - | 1 | after up 1.0 | https://x.example/1 | it adds \\| more |"
    assert line in capsys.readouterr().out
    half, gone = answer(capsys, *DEBT, code=0)["patches"]
    assert (half["releases"], half["until"], half["merged"]) == (
        ["up 1.0"],
        "up 2.0",
        None,
    )
    assert (gone["releases"], gone["until"], gone["since"]) == ([], None, None)
    assert main([*DEBT, "--format", "badge"]) == 0
    badge = json.loads(capsys.readouterr().out)
    assert badge == {
        "schemaVersion": 1,
        "label": "patches",
        "message": "2 patches, 1 may go",
    }


@pytest.mark.parametrize("words", [["--releases", "up"], ["--format", "badge"]])
def test_options_of_debt_alone_are_wrong_use(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without `--debt`, `--releases` and `--format badge` are wrong use."""
    assert main(["list", *words]) == 2
    assert "expected --debt with them" in capsys.readouterr().err
