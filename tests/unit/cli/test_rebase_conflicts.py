"""`patchkit rebase`: what it leaves to a person, and says why."""

from __future__ import annotations

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
    """Both sides changed the same line: markers, what upstream did, exit code 1."""
    edit = "Edit('up.mod:Box.take', old='list(one)', new='tuple(one)')"
    world.pack(row("p", None, edit, **TEXTS))
    before = rows(world)
    told = rebased(capsys, code=1)["p"]
    assert told.keys() >= {"name", "from", "to", "result", "conflicts"}
    (conflict,) = told["conflicts"]
    assert (told["result"], conflict["file"]) == ("conflict", "pack/__init__.py")
    assert conflict["reason"] == "1 conflict"
    assert "<<<<<<< yours" in conflict["lines"]
    assert "        kept = sorted(one)" in conflict["lines"]
    assert rows(world) == before
    assert main(["rebase", "p", "--to", "2.0"]) == 1
    out = capsys.readouterr().out
    assert ">>>>>>> upstream" in out
    assert "-        kept = list(one)" in out


def test_code_that_is_no_copy_is_a_persons(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """No merge of what has nothing in common; what upstream changed is shown."""
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
    """`check` has the last word: here the body's helper is gone from upstream."""
    body = "from up.mod import nowhere\n\n\n" + PLAIN
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=body,
    )
    (conflict, *_) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "nowhere" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_text() == body


def test_a_row_written_otherwise_is_its_authors(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was expected is told, and other rows are carried all the same."""
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
    """Its range has that release already, its body imports what is gone there."""
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
    """The settings of the project count."""
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
def test_a_range_that_leaves_the_release_out_is_a_persons(
    world: World, capsys: pytest.CaptureFixture[str], change: str, requires: str
) -> None:
    """That of a change, or one that names the release: nothing would be made there."""
    world.pack(row("p", None, change, **{**TEXTS, "requires": requires}))
    before = rows(world)
    for words in (["p"], ["p", "--keep"]):
        (conflict,) = rebased(capsys, *words, code=1)["p"]["conflicts"]
        assert "up 2.0" in conflict["reason"]
        assert "out of" in conflict["reason"]
    assert rows(world) == before


def test_a_git_that_is_not_there(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merge is a person's then; a row without text to merge needs none."""
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
