"""`patchkit rebase`: the range of a carried row has only releases that it holds for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import row

from cli.rebased_packs import EDIT, OLD, PLAIN, TEXTS, rebased, rows, shop, world
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes

OTHER = OLD.replace("beta + 2", "beta + 2000")
REPLACE = "Replace('up.mod:plain', by='plain')"


def exactly(version: str) -> dict[str, str]:
    """The fields of a row for one release."""
    return {**TEXTS, "requires": f"('up=={version}',)"}


def release(world: World, **texts: str) -> None:
    """Write releases of `up`, `v2_0` being 2.0, in place of those that are there."""
    shelf = world.folder / "wheels"
    for wheel in shelf.iterdir():
        wheel.unlink()
    versions = {name[1:].replace("_", "."): text for name, text in texts.items()}
    write_wheels(
        shelf,
        {version: {"mod": text, "late": ""} for version, text in versions.items()},
    )


def test_a_release_in_between_that_differs_is_left_out(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.0 and 2.0 have the same function, 1.1 another one, over which the copy must not be put."""
    release(world, v1_0=OLD, v1_1=OTHER, v1_2=OLD, v2_0=OLD)
    world.pack(row("p", "patch_a", REPLACE, **exactly("1.0")), patch_a=PLAIN)
    done = rebased(capsys)["p"]
    assert done["result"] == "unchanged"
    assert "requires=('up>=1.0,!=1.1,<=2.0',)" in rows(world)
    (left_out,) = done["left_out"]
    assert left_out["release"] == "up 1.1"
    assert "merged" in left_out["reason"]


def test_what_stays_out_is_told(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has a line with the reason, for each kind of reason."""
    has_it = OLD.replace("size > 3", "size > 30")
    release(world, v1_0=OLD, v1_1=has_it, v1_2="LIMIT = 3\n", v2_0=OLD)
    world.pack(row("p", None, EDIT, **exactly("1.0")))
    assert main(["rebase", "p", "--to", "2.0"]) == 0
    printed = capsys.readouterr().out
    assert (
        "up 1.1 stays out of its range: that release has its changes itself" in printed
    )
    assert "up 1.2 stays out of its range: up 1.2: " in printed
    assert "requires=('up>=1.0,!=1.1,!=1.2,<=2.0',)" in rows(world)


def test_a_release_in_between_that_check_refuses_is_left_out(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Wrap would hold in 1.1, but the body imports what 1.1 lacks."""
    body = (
        "from up.mod import gone\n\n\n"
        "def w(wrapped, instance, args, kwargs):\n    return gone()\n"
    )
    without = OLD.replace("def gone", "def else_where")
    release(world, v1_0=OLD, v1_1=without, v2_0=OLD)
    wrap = "Wrap('up.mod:Box.take', by='w')"
    world.pack(row("p", "patch_a", wrap, **exactly("1.0")), patch_a=body)
    done = rebased(capsys)["p"]
    assert [entry["release"] for entry in done["left_out"]] == ["up 1.1"]
    assert "requires=('up>=1.0,!=1.1,<=2.0',)" in rows(world)


def test_the_range_ends_before_a_later_release_that_differs(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The range would go up to 2.1; 2.0.1 holds, and 2.0.2 does not."""
    release(world, v1_0=OLD, v2_0=OLD, v2_0_1=OLD + "\n", v2_0_2=OTHER)
    world.pack(row("p", "patch_a", REPLACE, **TEXTS), patch_a=PLAIN)
    assert rebased(capsys)["p"]["result"] == "unchanged"
    assert "requires=('up>=1,<2.0.2',)" in rows(world)


def test_a_merged_row_is_tried_on_later_releases(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The merged body holds for 2.0.1, which is like 2.0, and not for 2.0.2, which is like 1.0."""
    release(world, v1_0=OLD, v2_0=OTHER, v2_0_1=OTHER, v2_0_2=OLD)
    world.pack(row("p", "patch_a", REPLACE, **TEXTS), patch_a=PLAIN)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "requires=('up>=2.0,<2.0.2',)" in rows(world)


@pytest.mark.parametrize("requires", ["up>=1", "up>=1,<1.9"])
def test_the_range_ends_where_upstream_got_the_change(
    world: World, capsys: pytest.CaptureFixture[str], requires: str
) -> None:
    """Upstream has it from 1.2 on, also if the row is carried to 2.0: those in between are over."""
    has_it = OLD.replace("size > 3", "size > 30")
    release(world, v1_0=OLD, v1_1=OLD, v1_2=has_it, v1_3=has_it, v2_0=has_it)
    texts = {**TEXTS, "requires": f"('{requires}',)"}
    world.pack(row("p", None, EDIT, **texts))
    assert rebased(capsys, "p", "--from", "1.0")["p"]["result"] == "retired"
    assert "requires=('up>=1,<1.2',)" in rows(world)


def test_a_change_that_upstream_took_back_ends_the_range_where_it_came_again(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.1 has the change, 1.2 lacks it again, and from 1.3 on it is there to stay."""
    has_it = OLD.replace("size > 3", "size > 30")
    release(world, v1_0=OLD, v1_1=has_it, v1_2=OLD, v1_3=has_it, v2_0=has_it)
    world.pack(row("p", None, EDIT, **{**TEXTS, "requires": "('up>=1',)"}))
    rebased(capsys, "p", "--from", "1.0")
    assert "requires=('up>=1,<1.3',)" in rows(world)


def test_what_is_kept_is_tried_on_the_releases_in_between(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--keep`, the copy for 1.0 holds for 1.1 and not for 1.2, the merged one for 2.0."""
    release(world, v1_0=OLD, v1_1=OLD, v1_2=OLD.replace("alpha + 1", "1"), v2_0=OTHER)
    world.pack(row("p", "patch_a", REPLACE, **exactly("1.0")), patch_a=PLAIN)
    assert rebased(capsys, "p", "--keep")["p"]["result"] == "merged"
    assert "by='plain_2_0',requires=('up>=2.0',)" in rows(world)
    assert "requires=('up>=1.0,!=1.2,<=2.0',)" in rows(world)


def test_a_release_that_the_row_left_out_does_not_end_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Upstream has the change from 1.2 on, which the row excludes: the first that counts is 1.3."""
    has_it = OLD.replace("size > 3", "size > 30")
    release(world, v1_0=OLD, v1_2=has_it, v1_3=has_it, v2_0=has_it)
    world.pack(row("p", None, EDIT, **{**TEXTS, "requires": "('up>=1,!=1.2',)"}))
    assert rebased(capsys, "p", "--from", "1.0")["p"]["result"] == "retired"
    assert "requires=('up>=1,!=1.2,<1.3',)" in rows(world)
