"""`patchkit rebase`: rows that use what other rows of their pack add."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from cli.rebased_packs import TEXTS, rebased, rows, shop, world

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes

ADDING = row("adds", "patch_b", "Add('up.mod:Box.extra', by='extra')", **TEXTS)
BODY = (
    "from up.mod import Box\n\n\n"
    "def w(wrapped, instance, args, kwargs):\n    return Box.extra.more, Box.extra\n"
)
EXTRA = "def extra(self):\n    return 1\n"


@pytest.mark.parametrize("names", [("uses",), ("uses", "adds"), ("--all",)])
def test_a_name_that_another_row_adds_is_known(
    world: World, capsys: pytest.CaptureFixture[str], names: tuple[str, ...]
) -> None:
    """Whether that row is carried before, after, or not at all."""
    using = row("uses", "patch_a", "Wrap('up.mod:plain', by='w')", **TEXTS)
    world.pack(using, ADDING, patch_a=BODY, patch_b=EXTRA)
    done = rebased(capsys, *names)
    results = {outcome["result"] for outcome in done.values()}
    assert results == {"unchanged"}


@pytest.mark.parametrize("names", [("wraps",), ("--all",)])
def test_a_change_of_what_another_row_adds_is_carried(
    world: World, capsys: pytest.CaptureFixture[str], names: tuple[str, ...]
) -> None:
    """Neither release has the target of the Wrap: the pack has."""
    wrapping = row(
        "wraps",
        "patch_a",
        "Wrap('up.mod:Box.extra', by='w')",
        after="('adds',)",
        **TEXTS,
    )
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(ADDING, wrapping, patch_a=body, patch_b=EXTRA)
    assert rebased(capsys, *names)["wraps"]["result"] == "unchanged"
    assert "requires=('up>=1,<2.1',)" in rows(world)


def test_a_name_that_no_row_adds_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another name of the same class is gone all the same."""
    using = row("uses", "patch_a", "Wrap('up.mod:plain', by='w')", **TEXTS)
    world.pack(
        using, ADDING, patch_a=BODY.replace("Box.extra,", "Box.e,"), patch_b=EXTRA
    )
    body = BODY.replace("Box.extra.more", "Box.another")
    (world.folder / "pack" / "patch_a.py").write_text(body)
    sys.modules.pop("pack", None)
    (conflict,) = rebased(capsys, "uses", code=1)["uses"]["conflicts"]
    assert conflict["reason"].startswith("PK602 up 2.0: ")
