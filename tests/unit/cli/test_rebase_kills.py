"""`patchkit rebase`: a process that is killed while it writes, and the next one."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from cli.rebased_packs import PLAIN, TEXTS, rebased, rows, shop, world
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes


def write_pack(world: World) -> None:
    """Write a pack whose body is merged with what upstream changed in 2.0."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )


def is_killed_at(number: int, *words: str) -> bool:
    """Run `rebase` in a child that is killed before the nth time that it renames a file.

    Returns:
        Whether it was killed; False if it renames no so many files.
    """
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    renames = 0

    def kill(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal renames
        if event == "os.rename" and str(arguments[0]).endswith(".patchkit"):
            renames += 1
            if renames == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    os._exit(main(["rebase", *words, "--to", "2.0"]))


@pytest.mark.parametrize("number", [1, 2])
def test_what_a_killed_rebase_has_begun_is_done_by_the_next(
    world: World, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """The next one ends like one that was never killed: the merged body is for 2.0 alone."""
    write_pack(world)
    assert is_killed_at(number, "p")
    folder = world.folder / "pack"
    assert "requires=('up>=1,<2',)" in rows(world)
    assert rebased(capsys, "p")["p"]["result"] == "merged"
    assert "second = helper(beta)" in (folder / "patch_a.py").read_text()
    assert "requires=('up>=2.0,<2.1',)" in rows(world)
    assert hidden_files(folder) == []


def test_the_row_is_written_last(world: World) -> None:
    """It renames two files, the row after the body: a third rename is never reached."""
    write_pack(world)
    assert is_killed_at(2, "p")
    body = (world.folder / "pack" / "patch_a.py").read_text()
    assert "second = helper(beta)" in body
    write_pack(world)
    for file in hidden_files(world.folder / "pack"):
        (world.folder / "pack" / file).unlink()
    assert not is_killed_at(3, "p")


def test_a_dry_run_does_not_look_at_half_of_a_rebase(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It writes nothing, so that it cannot take back what a killed one has begun; it says so."""
    write_pack(world)
    assert is_killed_at(2, "p")
    (conflict,) = rebased(capsys, "p", "--dry-run", code=1)["p"]["conflicts"]
    assert "a rebase was killed while it wrote" in conflict["reason"]
    assert ".__init__.py.patchkit" in hidden_files(world.folder / "pack")


def test_what_an_earlier_version_left_is_in_nobodys_way(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A half-written file beside the body is deleted."""
    write_pack(world)
    folder = world.folder / "pack"
    (folder / ".patch_a.py.patchkit").write_text("def pl")
    assert rebased(capsys, "p")["p"]["result"] == "merged"
    assert hidden_files(folder) == []


def hidden_files(folder: Path) -> list[str]:
    """List the files that a rebase may leave beside those of a pack."""
    return sorted(file.name for file in folder.glob(".*"))
