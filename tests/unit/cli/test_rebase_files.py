"""`patchkit rebase`: packs whose files are unusual, or cannot be written."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from cli.rebased_packs import EDIT, PLAIN, TEXTS, rebased, rows, shop, world

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes


def test_a_pack_that_is_a_link(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """To a folder elsewhere, in which a link leads nowhere, and files may not be written."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    there = world.folder / "there"
    (world.folder / "pack").rename(there)
    (world.folder / "pack").symlink_to(there)
    (there / "gone.txt").symlink_to("nowhere")
    (there / "patch_a.py").chmod(0o440)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "helper(beta)" in (there / "patch_a.py").read_text()
    assert stat.S_IMODE((there / "patch_a.py").stat().st_mode) == 0o440


def test_a_pack_that_imports_what_lies_beside_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check of the copy finds it, too."""
    (world.folder / "beside.py").write_text("WHY = 'w'\n")
    world.pack(row("p", None, EDIT, **{**TEXTS, "why": "__import__('beside').WHY"}))
    assert rebased(capsys)["p"]["result"] == "unchanged"


def test_a_pack_that_cannot_be_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of its files none is changed, and the row is a conflict."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    (world.folder / "pack" / ".patch_a.py.patchkit").mkdir()
    before = rows(world)
    told = rebased(capsys, code=1)["p"]
    assert (told["result"], told["files"]) == ("conflict", [])
    assert told["conflicts"][0]["reason"].endswith("File exists; nothing was written")
    assert rows(world) == before
    assert (world.folder / "pack" / "patch_a.py").read_text() == PLAIN


def test_a_body_in_another_encoding(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a person's; nothing of it is lost."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    content = f"# -*- coding: latin-1 -*-\n# ü\n{PLAIN}".encode("latin-1")
    (world.folder / "pack" / "patch_a.py").write_bytes(content)
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "can't decode" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_bytes() == content
