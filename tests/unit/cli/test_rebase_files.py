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


def test_a_pack_that_is_a_link_is_rebased_where_it_leads(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are written in the folder that the link leads to, and keep their modes. A link in it
    that leads nowhere is no error.
    """
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    linked = world.folder / "there"
    (world.folder / "pack").rename(linked)
    (world.folder / "pack").symlink_to(linked)
    (linked / "gone.txt").symlink_to("nowhere")
    (linked / "patch_a.py").chmod(0o440)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "helper(beta)" in (linked / "patch_a.py").read_text()
    assert stat.S_IMODE((linked / "patch_a.py").stat().st_mode) == 0o440


def test_a_pack_that_imports_what_lies_beside_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rebase` checks a copy of the pack, which can still import the modules beside the pack."""
    (world.folder / "beside.py").write_text("WHY = 'w'\n")
    world.pack(row("p", None, EDIT, **{**TEXTS, "why": "__import__('beside').WHY"}))
    assert rebased(capsys)["p"]["result"] == "unchanged"


def test_a_pack_that_cannot_be_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a file cannot be written, no file of the pack is changed, and the row is a conflict."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    (world.folder / "pack" / ".patch_a.py.patchkit").mkdir()
    before = rows(world)
    outcome = rebased(capsys, code=1)["p"]
    assert (outcome["result"], outcome["files"]) == ("conflict", [])
    assert outcome["conflicts"][0]["reason"].endswith(
        "File exists; nothing was written"
    )
    assert rows(world) == before
    assert (world.folder / "pack" / "patch_a.py").read_text() == PLAIN


def test_a_body_in_another_encoding_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A body that is not UTF-8 is a conflict, and its bytes stay as they are."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    content = f"# -*- coding: latin-1 -*-\n# ü\n{PLAIN}".encode("latin-1")
    (world.folder / "pack" / "patch_a.py").write_bytes(content)
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "can't decode" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_bytes() == content


@pytest.mark.parametrize("setting", ["variable", "file", "relative file"])
def test_releases_in_a_folder_that_is_named_relatively(
    world: World,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
) -> None:
    """The check of the copy, which runs in another folder, finds the same releases."""
    world.pack(row("p", None, EDIT, **TEXTS))
    (world.folder / "wheels").rename(world.folder / "shelf")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    if setting == "variable":
        monkeypatch.setenv("PIP_FIND_LINKS", "shelf")
    else:
        file = world.folder / "pip.conf"
        file.write_text("[global]\nno-index = yes\nfind-links = shelf\n")
        named = str(file) if setting == "file" else "pip.conf"
        monkeypatch.setenv("PIP_CONFIG_FILE", named)
    assert rebased(capsys)["p"]["result"] == "unchanged"
