"""`patchkit rebase`: over wheels that the tests write, with the real git and the real check."""

from __future__ import annotations

import sys
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


def test_an_edit_is_carried_over_what_upstream_changed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the anchor of an Edit still holds, only the row's range changes."""
    world.pack(row("p", None, EDIT, **TEXTS))
    done = rebased(capsys)["p"]
    assert (done["result"], done["from"], done["to"]) == ("unchanged", "1.1", "2.0")
    assert "requires=('up>=1,<2.1',)" in rows(world)
    assert "size>30" in rows(world)


def test_an_anchor_that_upstream_rewrote_is_written_anew(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where upstream changed lines of an Edit's anchor, the new anchor has upstream's lines."""
    old = "if size > 3:\\n    raise ValueError\\nkept = list(one)"
    edit = f"Edit('up.mod:Box.take', old='{old}', new='{old.replace('Value', 'Key')}')"
    world.pack(row("p", None, edit, **TEXTS))
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "KeyError" in rows(world)
    assert "list(one)" not in rows(world)
    assert "requires=('up>=2.0,<2.1',)" in rows(world)


def test_a_copied_body_is_merged(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copied body gets upstream's change beside its own, and imports what that change uses."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    assert rebased(capsys)["p"]["result"] == "merged"
    body = (world.folder / "pack" / "patch_a.py").read_text()
    assert "third + 100" in body
    assert "second = helper(beta)" in body
    assert "from up.mod import helper" in body


def test_keep_leaves_the_old_function_beside_the_merged_one(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--keep` the body has both functions, and each change is limited to its releases."""
    shelf = world.folder / "wheels"
    write_wheels(
        shelf, {"2.0": {"mod": OLD.replace("beta + 2", "beta + 2000"), "late": ""}}
    )
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    assert rebased(capsys, "p", "--keep")["p"]["result"] == "merged"
    body = (world.folder / "pack" / "patch_a.py").read_text()
    assert PLAIN.strip() in body
    assert "def plain_2_0(alpha, beta):" in body
    text = rows(world)
    assert "Replace('up.mod:plain',by='plain',requires=('up<2.0',))" in text
    assert "Replace('up.mod:plain',by='plain_2_0',requires=('up>=2.0',))" in text
    assert "requires=('up>=1,<2.1',)" in text


def test_a_row_with_a_change_for_the_new_release_stays(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row whose change for older releases ends by its own range is left as it is."""
    changes = "Replace('up.mod:plain', by='plain', requires=('up<2.0',)), "
    changes += "Replace('up.mod:plain', by='two', requires=('up>=2.0',))"
    texts = {**TEXTS, "requires": "('up>=1,<2.1',)"}
    world.pack(
        row("p", "patch_a", changes, **texts), patch_a=PLAIN + "\n\ntwo = plain\n"
    )
    before = rows(world)
    done = rebased(capsys, "p", "--from", "1.1")["p"]
    assert (done["result"], done["files"]) == ("unchanged", [])
    assert rows(world) == before


def test_keep_imports_new_names_inside_the_merged_function(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `--keep` the merged function imports what older releases lack only when it runs."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    assert rebased(capsys, "p", "--keep")["p"]["result"] == "merged"
    assert (
        "    from up.mod import helper\n"
        in (world.folder / "pack" / "patch_a.py").read_text()
    )


def test_what_upstream_has_is_retired(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row whose edit upstream has made itself ends before that release."""
    edit = "Edit('up.mod:Box.take', old='list(one)', new='sorted(one)')"
    world.pack(row("p", None, edit, **{**TEXTS, "requires": "('up>=1',)"}))
    assert rebased(capsys, "p", "--from", "1.0")["p"]["result"] == "retired"
    assert "requires=('up>=1,<2.0',)" in rows(world)


def test_targets_and_imports_follow_what_moved(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a target moved, the row names its new module, and the body imports it from there."""
    start, end = OLD.index("def plain"), OLD.index("class Box")
    mod, late = OLD[:start] + OLD[end:], OLD[start:end]
    write_wheels(world.folder / "wheels", {"2.0": {"mod": mod, "late": late}})
    body = "from up.mod import LIMIT, plain\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:plain', by='w')", **TEXTS), patch_a=body
    )
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "Wrap('up.late:plain',by='w')" in rows(world)
    after = (world.folder / "pack" / "patch_a.py").read_text()
    assert after.startswith("from up.mod import LIMIT\nfrom up.late import plain\n")


def test_a_dry_run_writes_nothing(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--dry-run` shows the diffs of a rebase, and changes no file."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        patch_a=PLAIN,
    )
    before = rows(world)
    assert main(["rebase", "p", "--to", "2.0", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "+    second = helper(beta)" in out
    assert "would be edited" in out
    assert rows(world) == before
    assert (world.folder / "pack" / "patch_a.py").read_text() == PLAIN


def test_what_was_carried_may_be_carried_again(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second rebase to the same release changes no file, whatever the first one did."""
    retired = "Edit('up.mod:Box.take', old='list(one)', new='sorted(one)')"
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        row("q", None, EDIT, after="('r',)", **TEXTS),
        row("r", None, retired, **TEXTS),
        patch_a=PLAIN,
    )
    first = rebased(capsys)
    results = {name: outcome["result"] for name, outcome in first.items()}
    assert results == {"p": "merged", "q": "unchanged", "r": "retired"}
    rows_before = rows(world)
    body_before = (world.folder / "pack" / "patch_a.py").read_text()
    sys.modules.pop("pack")
    second = rebased(capsys)
    files = {name: outcome["files"] for name, outcome in second.items()}
    assert files == {"p": [], "q": [], "r": []}
    assert second["p"]["result"] == "unchanged"
    assert rows(world) == rows_before
    assert (world.folder / "pack" / "patch_a.py").read_text() == body_before
