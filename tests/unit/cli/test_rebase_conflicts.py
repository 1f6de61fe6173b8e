"""`patchkit rebase`: what it leaves to a person, and says why."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from support.packages import row

from cli.rebased_packs import EDIT, PLAIN, TEXTS, rebased, rows, shop, world
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes


def test_a_conflict_is_shown_and_nothing_is_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where both sides changed a line, markers and upstream's diff are shown, with exit code 1."""
    edit = "Edit('up.mod:Box.take', old='list(one)', new='tuple(one)')"
    world.pack(row("p", None, edit, **TEXTS))
    before = rows(world)
    outcome = rebased(capsys, code=1)["p"]
    assert outcome.keys() >= {"name", "from", "to", "result", "conflicts"}
    (conflict,) = outcome["conflicts"]
    assert (outcome["result"], conflict["file"]) == ("conflict", "pack/__init__.py")
    assert conflict["reason"] == "1 conflict"
    assert "<<<<<<< yours" in conflict["lines"]
    assert "        kept = sorted(one)" in conflict["lines"]
    assert rows(world) == before
    assert main(["rebase", "p", "--to", "2.0"]) == 1
    out = capsys.readouterr().out
    assert ">>>>>>> upstream" in out
    assert "-        kept = list(one)" in out


def test_code_that_is_no_copy_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A body that has nothing in common with upstream's source is a conflict, not a merge."""
    body = "def other(a):\n    print(a)\n    del a\n    return 3\n"
    world.pack(
        row("p", "patch_a", "Replace('up.mod:other', by='other')", **TEXTS),
        patch_a=body,
    )
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "its code is its own" in conflict["reason"]


def test_a_row_that_would_not_hold_is_not_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A merge that `check` refuses is a conflict, and no file is written. Here the body imports
    what is gone from upstream.
    """
    body = "from up.mod import nowhere\n\n\n" + PLAIN
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=body,
    )
    (conflict, *_) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "nowhere" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_text() == body


def test_a_row_that_cannot_be_edited_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that is not written as `Patch(...)` is a conflict, and other rows are carried."""
    world.pack(
        row("p", None, EDIT, **TEXTS), row("q", None, EDIT.replace("30", "31"), **TEXTS)
    )
    file = world.folder / "pack" / "__init__.py"
    text = file.read_text()
    file.write_text(
        text.replace("changes=(", "changes=tuple([", 1).replace("),)", "),])", 1)
    )
    done = rebased(capsys, code=1)
    assert "expected a row written as Patch(" in done["p"]["conflicts"][0]["reason"]
    assert (done["p"]["result"], done["q"]["result"]) == ("conflict", "unchanged")
    assert rows(world).count("requires=('up>=1,<2.1',)") == 1


def test_a_row_that_check_refuses_is_no_unchanged_one(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row whose range has the release already is a conflict if `check` finds an error in it."""
    body = (
        "from up.mod import nowhere\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    )
    texts = {**TEXTS, "requires": "('up>=1,<3',)"}
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:Box.take', by='w')", **texts), patch_a=body
    )
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert conflict["reason"].startswith("PK601 up 2.0: ")
    assert (conflict["file"], conflict["lines"]) == ("pack/patch_a.py", [])


def test_what_a_person_has_accepted_is_no_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finding that the project's settings accept or ignore is no conflict."""
    body = (
        "from up.mod import nowhere\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    )
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:Box.take', by='w')", **TEXTS), patch_a=body
    )
    for entry in ("accept = ['PK601 up.mod:nowhere']", "ignore = ['PK601']"):
        (world.folder / "pyproject.toml").write_text(f"[tool.patchkit]\n{entry}\n")
        assert rebased(capsys, "p", "--dry-run")["p"]["result"] == "unchanged"


@pytest.mark.parametrize(
    ("change", "requires"),
    [
        (EDIT.replace("new=", "requires=('up<2',), new="), "('up>=1,<2',)"),
        (EDIT, "('up>=1,!=2.0,<2',)"),
        (EDIT, "('up>=1,<2', 'up!=2.0')"),
    ],
)
def test_a_range_that_leaves_the_release_out_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str], change: str, requires: str
) -> None:
    """A range of the change or the row that excludes the release is a conflict."""
    world.pack(row("p", None, change, **{**TEXTS, "requires": requires}))
    before = rows(world)
    for words in (["p"], ["p", "--keep"]):
        (conflict,) = rebased(capsys, *words, code=1)["p"]["conflicts"]
        assert "up 2.0" in conflict["reason"]
        assert re.search("out of its range|outside the range", conflict["reason"])
    assert rows(world) == before


def test_without_git_a_row_that_needs_a_merge_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without git a row that needs a merge is a conflict, and a row that needs none is carried."""
    monkeypatch.setenv("PATH", str(world.folder))
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(
        row("p", None, EDIT, **TEXTS),
        row("q", "patch_a", "Wrap('up.mod:plain', by='w')", **TEXTS),
        patch_a=body,
    )
    done = rebased(capsys, code=1)
    assert "git: No such file or directory" in done["p"]["conflicts"][0]["reason"]
    assert done["q"]["result"] == "unchanged"
