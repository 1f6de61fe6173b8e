"""What `export` writes, `adopt` reads again: the rows that come back are those that went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.packages import World, row, world

from authoring.export.exporting import export, here
from patchkit.cli import main
from patchkit.registry import read_pack

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]


@pytest.mark.parametrize(
    "change",
    [
        "AddField('up.lib:Config', name='new', type='int', default=3)",
        "AddField('up.lib:Config', name='new', type='int | None', default=None)",
        "AddField('up.lib:Config', name='new', type='list[int]', default=[])",
        "AddField('up.lib:Config', name='new', type='dict[str, int]', default={'a': 1})",
    ],
)
def test_an_added_field_comes_back(
    change: str,
    world: World,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its name, its type and its default are those of the row that was exported."""
    monkeypatch.chdir(here)
    (here / "pack").mkdir()
    world.pack(row("one", None, change))
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    (here / "field.diff").write_text(diff)
    words = ["adopt", "field.diff", "--into", "back", "--releases", "up==1.0"]
    assert main(words) == 0, capsys.readouterr()
    (went,) = (patch.patch.changes for patch in read_pack("pack"))
    (came,) = (patch.patch.changes for patch in read_pack("back"))
    assert list(came) == list(went)
