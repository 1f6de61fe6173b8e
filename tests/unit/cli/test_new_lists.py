"""`patchkit new` for the targets of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.new_project import new, project, refusal, rows, world
from patchkit.cli import main

__all__ = ["project", "world"]

LISTING = """\
# what the company changes
up.mod:f
up.mod:C.m  mod   # it is slow

up.mod:C
"""


@pytest.mark.processes
def test_a_list_makes_a_row_of_each_target(capsys: pytest.CaptureFixture[str]) -> None:
    """Each has a body and a test of its own, and the name in the list or one after its target."""
    Path("targets.txt").write_text(LISTING)
    assert new("--from", "targets.txt") == 0
    assert list(rows()) == ["f", "mod", "c"]
    bodies = sorted(file.name for file in Path("my_pack").glob("patch_*"))
    assert bodies == ["patch_c.py", "patch_mod.py", "patch_mod_mod.py"]
    assert len(list(Path("tests").iterdir())) == 3
    out = capsys.readouterr().out
    assert "patchkit check f mod c" in out
    assert out.count("fill in why") == 1
    words = ["--patches", "my_pack", "--releases", "up==1.2", "--format", "json"]
    main(["check", *words])
    grid = json.loads(capsys.readouterr().out)["grid"]
    assert [row["up 1.2"] for row in grid.values()] == ["ok", "ok", "ok"]


@pytest.mark.processes
def test_a_list_grows_a_pack_that_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is taken gets the words before it; a dry run and JSON have all patches."""
    assert new("f", "--target", "up.mod:f") == 0
    Path("targets.txt").write_text("up.mod:f\nup.mod:C\n")
    capsys.readouterr()
    words = ["--from", "targets.txt", "--dry-run", "--format", "json"]
    Path("pyproject.toml").write_text('[tool.patchkit]\npacks = ["my_pack"]\n')
    assert new(*words) == 0
    data = json.loads(capsys.readouterr().out)
    assert [patch["patch"] for patch in data["patches"]] == ["mod-f", "c"]
    assert data["next"]
    assert list(rows()) == ["f"]


@pytest.mark.parametrize(
    ("listing", "words", "message"),
    [
        (
            "up.mod:f a b\n",
            [],
            "targets.txt:1: found 'up.mod:f a b', expected a target",
        ),
        ("# nothing\n", [], "targets.txt: found no target"),
        ("up.mod:f a\nup.mod:C a\n", [], "found a patch 'a' in targets.txt"),
        ("up.mod:f\nup.mod:nope\n", [], "up.mod:nope is not in up 1.2"),
        ("up.mod:f\n", ["p"], "expected the list alone"),
        ("up.mod:f\n", ["--body", "patch_x"], "expected the list alone"),
        (None, [], "targets.txt: [Errno 2]"),
    ],
)
def test_a_list_with_a_fault_writes_nothing(
    listing: str | None,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The error names the line, or the target."""
    if listing is not None:
        Path("targets.txt").write_text(listing)
    assert message in refusal(capsys, *words, "--from", "targets.txt")
    assert not Path("my_pack").exists()


def test_a_name_and_a_target_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a list, an error says what is expected."""
    assert "or --from FILE" in refusal(capsys, "p")
