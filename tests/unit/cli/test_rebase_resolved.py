"""`patchkit rebase`: after a person has resolved a conflict."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import row

from cli.rebased_packs import OLD, PLAIN, TEXTS, rebased, rows, shop, world
from patchkit.cli import main

if TYPE_CHECKING:
    from support.packages import World

__all__ = ["shop", "world"]
pytestmark = pytest.mark.processes

REPLACE = "Replace('up.mod:plain', by='plain')"
OURS = PLAIN.replace("beta + 2", "abs(beta + 2)").replace(" + 100", "")


def edit(old: str, new: str) -> str:
    """The text of an Edit of `Box.take`."""
    return f"Edit('up.mod:Box.take', old={old!r}, new={new!r})"


def test_a_body_that_was_merged_by_hand_is_carried(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both sides changed one line; once ours has upstream's change, the row is for 2.0 on."""
    world.pack(row("p", "patch_a", REPLACE, **TEXTS), patch_a=OURS)
    assert rebased(capsys, code=1)["p"]["result"] == "conflict"
    resolved = "from up.mod import helper\n\n\n" + OURS.replace(
        "abs(beta + 2)", "abs(helper(beta))"
    )
    body = world.folder / "pack" / "patch_a.py"
    body.write_text(resolved)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert body.read_text() == resolved
    assert "requires=('up>=2.0,<2.1',)" in rows(world)


def test_an_edit_that_was_written_anew_by_hand_is_carried(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names upstream's new code, which earlier releases lack: the row is for 2.0 on."""
    change = edit("kept = sorted(one)", "kept = tuple(sorted(one))")
    world.pack(row("p", None, change, **TEXTS))
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "kept=tuple(sorted(one))" in rows(world)
    assert "requires=('up>=2.0,<2.1',)" in rows(world)


def test_an_edit_that_fits_neither_release_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was written for a third one."""
    world.pack(row("p", None, edit("kept = set(one)", "kept = one"), **TEXTS))
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert conflict["reason"].startswith("its Edit: ")


@pytest.mark.parametrize("by_hand", ["an Edit", "a body"])
def test_what_was_written_for_the_new_release_cannot_be_kept_for_old_ones(
    world: World, capsys: pytest.CaptureFixture[str], by_hand: str
) -> None:
    """The code for older releases is gone, so that `--keep` has nothing to keep."""
    change = edit("kept = sorted(one)", "kept = tuple(sorted(one))")
    world.pack(row("p", None, change, **TEXTS))
    if by_hand == "a body":
        body = OURS.replace("abs(beta + 2)", "abs(helper(beta))")
        world.pack(row("p", "patch_a", REPLACE, **TEXTS), patch_a=body)
    (conflict,) = rebased(capsys, "p", "--keep", code=1)["p"]["conflicts"]
    assert "rebase it without --keep" in conflict["reason"]


def test_a_line_that_lacks_what_upstream_changed_stays_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever has changed another part of the line has not resolved anything."""
    world.pack(
        row("p", "patch_a", REPLACE, **TEXTS),
        patch_a=OURS.replace("abs(", "helper(0) + abs("),
    )
    assert rebased(capsys, code=1)["p"]["result"] == "conflict"


def test_what_was_reviewed_for_the_new_release_is_no_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person who finds that ours is right as it is says so in the range and in the lock. The
    message of the conflict says how.
    """
    texts = {**TEXTS, "requires": "('up>=1,<2.1',)"}
    world.pack(row("p", "patch_a", REPLACE, **texts), patch_a=OURS)
    assert main(["lock", "--releases", "up<2"]) == 0
    capsys.readouterr()
    assert main(["rebase", "p", "--to", "2.0"]) == 1
    advice = "patchkit lock p --releases 'up==2.0'"
    assert advice in capsys.readouterr().out
    assert main(["lock", "p", "--releases", "up==2.0"]) == 0
    capsys.readouterr()
    done = rebased(capsys)["p"]
    assert (done["result"], done["from"]) == ("unchanged", "2.0")
    assert rebased(capsys, "p", "--from", "1.1", code=1)["p"]["result"] == "conflict"


def test_one_target_that_was_not_reviewed_is_compared(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lock has 2.0 for one of two targets: the row was written for 1.1 still."""
    texts = {**TEXTS, "requires": "('up>=1,<2.1',)"}
    take = "Wrap('up.mod:Box.take', by='w')"
    body = f"{OURS}\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", REPLACE, take, **texts), patch_a=body)
    assert main(["lock", "--releases", "up<2"]) == 0
    lock = world.folder / "pack" / "patchkit.lock"
    before = lock.read_text()
    assert main(["lock", "--releases", "up==2.0"]) == 0
    after = lock.read_text()
    plain = "  up.mod:plain\n"
    lock.write_text(after.partition(plain)[0] + plain + before.partition(plain)[2])
    capsys.readouterr()
    assert rebased(capsys, code=1)["p"]["from"] == "1.1"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "2.0"], "found no release up 2.0 before 2.0, expected --from an"),
        (["--from", "2.1"], "found no release up 2.1 before 2.0, expected --from an"),
        (["--from", "1.0", "--to", "1.0"], "before 1.0, which is the first release"),
    ],
)
def test_a_later_release_to_come_from_is_wrong_use(
    world: World,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    """`--from` has to be before `--to`; the error names both."""
    write_wheels(world.folder / "wheels", {"2.1": {"mod": OLD, "late": ""}})
    world.pack(row("p", None, edit("size > 3", "size > 30"), **TEXTS))
    assert main(["rebase", "p", "--to", "2.0", *words]) == 2
    assert message in capsys.readouterr().err


def test_what_has_no_text_to_merge_is_to_be_reviewed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A Wrap, a Decorate and the targets of `sets` stay as they are, and a person is told which of
    them upstream has changed.
    """
    changes = (
        "Wrap('up.mod:plain', by='w')",
        "Decorate('up.mod:Box.take', by='d')",
        "AfterImport('up.mod', call='c', sets=('up.mod:gone', 'up.mod:other'))",
    )
    body = (
        "def w(wrapped, instance, args, kwargs): ...\n\n\n"
        "def d(target):\n    return target\n\n\ndef c(module): ...\n"
    )
    world.pack(row("p", "patch_a", *changes, **TEXTS), patch_a=body)
    assert main(["rebase", "p", "--to", "2.0", "--dry-run", "--format", "json"]) == 0
    (done,) = json.loads(capsys.readouterr().out)["patches"]
    assert set(done["review"]) == {"up.mod:plain", "up.mod:Box.take", "up.mod:other"}
    assert main(["rebase", "p", "--to", "2.0"]) == 0
    printed = capsys.readouterr().out
    assert "read: patchkit diff p --from 1.1 --to 2.0" in printed


def test_targets_of_sets_follow_what_moved(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A target that moved is named at its new place; one that is gone is a conflict."""
    start, end = OLD.index("def plain"), OLD.index("class Box")
    mod, late = OLD[:start] + OLD[end:], OLD[start:end]
    write_wheels(world.folder / "wheels", {"2.0": {"mod": mod, "late": late}})
    call = "AfterImport('up.mod', call='c', sets=('up.mod:plain', 'up.mod:other'))"
    world.pack(row("p", "patch_a", call, **TEXTS), patch_a="def c(module): ...\n")
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "sets=('up.late:plain','up.mod:other')" in rows(world)


def test_a_target_of_sets_that_is_gone_is_a_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The reason names the target and the release."""
    mod = OLD.replace("def other", "def another").replace("return one", "return 1")
    write_wheels(world.folder / "wheels", {"2.0": {"mod": mod, "late": ""}})
    call = "AfterImport('up.mod', call='c', sets=('up.mod:other',))"
    world.pack(row("p", "patch_a", call, **TEXTS), patch_a="def c(module): ...\n")
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert conflict["reason"].startswith("its sets names up.mod:other, up 2.0: ")
