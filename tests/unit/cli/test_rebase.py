"""`patchkit rebase`: over wheels that the tests write, with the real git and the real check."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
from analysis.check.released import no_own_packs, write_wheels
from support.packages import row, world

from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from support.packages import World

__all__ = ["world"]
pytestmark = pytest.mark.processes
OLD = """\
LIMIT = 3


def plain(alpha, beta):
    '''Words.'''
    first = alpha + 1
    second = beta + 2
    third = first * second
    return third


class Box:
    def take(self, one):
        size = len(one)
        if size > 3:
            raise ValueError
        kept = list(one)
        return kept


def gone():
    return 1


def other(one):
    return one
"""
NEW = (
    OLD.replace("beta + 2", "helper(beta)")
    .replace("kept = list(one)", "kept = sorted(one)")
    .replace("def plain", "def helper(one):\n    return one + 2\n\n\ndef plain")
    .replace("def gone():\n    return 1", "from up.late import gone")
    .replace("def other(one):\n    return one", "def other(one):\n    return [one, LIMIT]")
)
RELEASES = {
    "1.0": {"mod": OLD, "late": ""},
    "1.1": {"mod": OLD + "\n", "late": ""},
    "2.0": {"mod": NEW, "late": "def gone():\n    return 1\n"},
}
PLAIN = """\
def plain(alpha, beta):
    first = alpha + 1
    second = beta + 2
    third = first * second
    return third + 100
"""
EDIT = "Edit('up.mod:Box.take', old='size > 3', new='size > 30')"
TEXTS = {"why": "'w'", "upstream": "'u'", "sunset": "'s'", "requires": "('up>=1,<2',)"}


@pytest.fixture(autouse=True)
def shop(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases in a folder, and no index."""
    no_own_packs(monkeypatch)
    write_wheels(tmp_path / "wheels", RELEASES)
    for name, value in (
        ("PIP_CONFIG_FILE", "/dev/null"),
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", str(tmp_path / "wheels")),
        ("PATCHKIT_PATCHES", "pack"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    (world.folder / "pack").mkdir()


def rebased(
    capsys: pytest.CaptureFixture[str], *words: str, code: int = 0
) -> dict[str, dict[str, Any]]:
    """What became of each row."""
    asked = ["rebase", *(words or ("--all",)), "--to", "2.0", "--format", "json"]
    assert main(asked) == code
    return {one["name"]: one for one in json.loads(capsys.readouterr().out)["patches"]}


def rows(world: World) -> str:
    """What the pack says, without layout."""
    text = (world.folder / "pack" / "__init__.py").read_text()
    return "".join(text.split()).replace('"', "'")


def test_an_edit_is_carried_over_what_upstream_changed(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its anchor still holds: only the range moves."""
    world.pack(row("p", None, EDIT, **TEXTS))
    done = rebased(capsys)["p"]
    assert (done["result"], done["from"], done["to"]) == ("unchanged", "1.1", "2.0")
    assert "requires=('up>=1,<2.1',)" in rows(world)
    assert "size>30" in rows(world)


def test_an_anchor_that_upstream_rewrote_is_written_anew(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The Edit names lines that upstream changed beside ours: the new anchor is upstream's."""
    old = "if size > 3:\\n    raise ValueError\\nkept = list(one)"
    edit = f"Edit('up.mod:Box.take', old='{old}', new='{old.replace('Value', 'Key')}')"
    world.pack(row("p", None, edit, **TEXTS))
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "KeyError" in rows(world)
    assert "list(one)" not in rows(world)
    assert "requires=('up>=2.0,<2.1',)" in rows(world)


def test_a_copied_body_is_merged(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """It has upstream's change and its own, and imports what upstream's change uses."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    assert rebased(capsys)["p"]["result"] == "merged"
    body = (world.folder / "pack" / "patch_a.py").read_text()
    assert "third + 100" in body
    assert "second = helper(beta)" in body
    assert "from up.mod import helper" in body


def test_both_are_kept_where_that_is_asked_for(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has its releases; the body has both functions."""
    shelf = world.folder / "wheels"
    write_wheels(shelf, {"2.0": {"mod": OLD.replace("beta + 2", "beta + 2000"), "late": ""}})
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    assert rebased(capsys, "p", "--keep")["p"]["result"] == "merged"
    body = (world.folder / "pack" / "patch_a.py").read_text()
    assert PLAIN.strip() in body
    assert "def plain_2_0(alpha, beta):" in body
    text = rows(world)
    assert "Replace('up.mod:plain',by='plain',requires=('up<2.0',))" in text
    assert "Replace('up.mod:plain',by='plain_2_0',requires=('up>=2.0',))" in text
    assert "requires=('up>=1,<2.1',)" in text


def test_what_is_carried_already_stays(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """The change for the older releases has ended, by its own range; another is in its place."""
    changes = "Replace('up.mod:plain', by='plain', requires=('up<2.0',)), "
    changes += "Replace('up.mod:plain', by='two', requires=('up>=2.0',))"
    texts = {**TEXTS, "requires": "('up>=1,<2.1',)"}
    world.pack(row("p", "patch_a", changes, **texts), patch_a=PLAIN + "\n\ntwo = plain\n")
    before = rows(world)
    done = rebased(capsys, "p", "--from", "1.1")["p"]
    assert (done["result"], done["files"]) == ("unchanged", [])
    assert rows(world) == before


def test_what_the_new_one_needs_may_be_missing_before(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The merged function imports it as it runs, which is in its own releases only."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    assert rebased(capsys, "p", "--keep")["p"]["result"] == "merged"
    assert "    from up.mod import helper\n" in (world.folder / "pack" / "patch_a.py").read_text()


def test_what_upstream_has_is_retired(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """The row ends before that release, and stays as it is."""
    edit = "Edit('up.mod:Box.take', old='list(one)', new='sorted(one)')"
    world.pack(row("p", None, edit, **{**TEXTS, "requires": "('up>=1',)"}))
    assert rebased(capsys, "p", "--from", "1.0")["p"]["result"] == "retired"
    assert "requires=('up>=1,<2.0',)" in rows(world)


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
    world.pack(row("p", "patch_a", "Replace('up.mod:other', by='other')", **TEXTS), patch_a=body)
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "its code is its own" in conflict["reason"]


def test_targets_and_imports_follow_what_moved(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row names the new place, and the body imports from there."""
    start, end = OLD.index("def plain"), OLD.index("class Box")
    mod, late = OLD[:start] + OLD[end:], OLD[start:end]
    write_wheels(world.folder / "wheels", {"2.0": {"mod": mod, "late": late}})
    body = "from up.mod import LIMIT, plain\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", "Wrap('up.mod:plain', by='w')", **TEXTS), patch_a=body)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "Wrap('up.late:plain',by='w')" in rows(world)
    after = (world.folder / "pack" / "patch_a.py").read_text()
    assert after.startswith("from up.mod import LIMIT\nfrom up.late import plain\n")


def test_a_dry_run_writes_nothing(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """It shows the same diffs."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    before = rows(world)
    assert main(["rebase", "p", "--to", "2.0", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "+    second = helper(beta)" in out
    assert "would be edited" in out
    assert rows(world) == before
    assert (world.folder / "pack" / "patch_a.py").read_text() == PLAIN


def test_a_row_that_would_not_hold_is_not_written(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` has the last word: here the body's helper is gone from upstream."""
    body = "from up.mod import nowhere\n\n\n" + PLAIN
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=body)
    (conflict, *_) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "nowhere" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_text() == body


def test_a_row_written_otherwise_is_its_authors(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was expected is told, and other rows are carried all the same."""
    world.pack(row("p", None, EDIT, **TEXTS), row("q", None, EDIT.replace("30", "31"), **TEXTS))
    file = world.folder / "pack" / "__init__.py"
    text = file.read_text()
    file.write_text(text.replace("changes=(", "changes=tuple([", 1).replace("),)", "),])", 1))
    done = rebased(capsys, code=1)
    assert "expected a row written as Patch(" in done["p"]["conflicts"][0]["reason"]
    assert (done["p"]["result"], done["q"]["result"]) == ("conflict", "unchanged")
    assert rows(world).count("requires=('up>=1,<2.1',)") == 1


def test_names_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither, or both, is wrong use."""
    assert main(["rebase", "--to", "2.0"]) == 2
    assert main(["rebase", "p", "--all", "--to", "2.0"]) == 2
    assert "expected names of patches, or --all" in capsys.readouterr().err


def test_a_row_that_check_refuses_is_no_unchanged_one(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its range has that release already, its body imports what is gone there."""
    body = "from up.mod import nowhere\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    texts = {**TEXTS, "requires": "('up>=1,<3',)"}
    world.pack(row("p", "patch_a", "Wrap('up.mod:Box.take', by='w')", **texts), patch_a=body)
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert conflict["reason"].startswith("PK601 up 2.0: ")
    assert (conflict["file"], conflict["lines"]) == ("pack/patch_a.py", [])


def test_what_a_person_has_accepted_is_no_conflict(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The settings of the project count."""
    body = "from up.mod import nowhere\n\n\ndef w(wrapped, instance, args, kwargs): ...\n"
    world.pack(row("p", "patch_a", "Wrap('up.mod:Box.take', by='w')", **TEXTS), patch_a=body)
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


def test_what_was_carried_may_be_carried_again(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second time there is nothing to do: merged, widened or ended, all stay."""
    retired = "Edit('up.mod:Box.take', old='list(one)', new='sorted(one)')"
    world.pack(
        row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS),
        row("q", None, EDIT, after="('r',)", **TEXTS),
        row("r", None, retired, **TEXTS),
        patch_a=PLAIN,
    )
    results = {name: one["result"] for name, one in rebased(capsys).items()}
    assert results == {"p": "merged", "q": "unchanged", "r": "retired"}
    before, body = rows(world), (world.folder / "pack" / "patch_a.py").read_text()
    sys.modules.pop("pack")
    again = rebased(capsys)
    assert {name: one["files"] for name, one in again.items()} == {"p": [], "q": [], "r": []}
    assert again["p"]["result"] == "unchanged"
    assert (rows(world), (world.folder / "pack" / "patch_a.py").read_text()) == (before, body)


def test_what_is_written_is_told_before_an_error(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second row was written for no release before: exit code 2, and the first is reported."""
    later = {**TEXTS, "requires": "('up>=5',)"}
    world.pack(row("p", None, EDIT, **TEXTS), row("q", None, EDIT, **later))
    assert rebased(capsys, code=2).keys() == {"p"}
    assert "<2.1" in rows(world)


def test_rows_of_other_packages_are_left_alone(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A release of one is none of the other's."""
    other = {**TEXTS, "requires": "('ray>=2.3',)"}
    body = "def w(wrapped, instance, args, kwargs): ...\n"
    world.pack(
        row("p", None, EDIT, **TEXTS),
        row("q", "patch_a", "Wrap('ray.mod:f', by='w')", **other),
        patch_a=body,
    )
    assert main(["rebase", "--all", "--to", "2.0", "--format", "json"]) == 0
    told = capsys.readouterr()
    assert [one["name"] for one in json.loads(told.out)["patches"]] == ["p"]
    assert "q: left as it is, it changes nothing of up" in told.err
    assert "requires=('ray>=2.3',)" in rows(world)


def test_a_pack_that_is_a_link(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """To a folder elsewhere, in which a link leads nowhere, and files may not be written."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    there = world.folder / "there"
    (world.folder / "pack").rename(there)
    (world.folder / "pack").symlink_to(there)
    (there / "gone.txt").symlink_to("nowhere")
    (there / "patch_a.py").chmod(0o440)
    assert rebased(capsys)["p"]["result"] == "merged"
    assert "helper(beta)" in (there / "patch_a.py").read_text()
    assert stat.S_IMODE((there / "patch_a.py").stat().st_mode) == 0o440


def test_a_pack_that_imports_what_lies_beside_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check of the copy finds it, too."""
    (world.folder / "beside.py").write_text("WHY = 'w'\n")
    world.pack(row("p", None, EDIT, **{**TEXTS, "why": "__import__('beside').WHY"}))
    assert rebased(capsys)["p"]["result"] == "unchanged"


def test_a_pack_that_cannot_be_written(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Of its files none is changed, and the row is a conflict."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    (world.folder / "pack" / ".patch_a.py.patchkit").mkdir()
    before = rows(world)
    told = rebased(capsys, code=1)["p"]
    assert (told["result"], told["files"]) == ("conflict", [])
    assert told["conflicts"][0]["reason"].endswith("File exists; nothing was written")
    assert rows(world) == before
    assert (world.folder / "pack" / "patch_a.py").read_text() == PLAIN


def test_a_body_in_another_encoding(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """It is a person's; nothing of it is lost."""
    world.pack(row("p", "patch_a", "Replace('up.mod:plain', by='plain')", **TEXTS), patch_a=PLAIN)
    content = f"# -*- coding: latin-1 -*-\n# ü\n{PLAIN}".encode("latin-1")
    (world.folder / "pack" / "patch_a.py").write_bytes(content)
    (conflict,) = rebased(capsys, code=1)["p"]["conflicts"]
    assert "can't decode" in conflict["reason"]
    assert (world.folder / "pack" / "patch_a.py").read_bytes() == content


def test_a_release_that_cannot_be_read(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, and nothing is written."""
    (world.folder / "wheels" / "up-2.0-py3-none-any.whl").write_bytes(b"PK cut off")
    world.pack(row("p", None, EDIT, **TEXTS))
    before = rows(world)
    assert main(["rebase", "p", "--to", "2.0"]) == 2
    said = capsys.readouterr().err
    assert "up 2.0" in said
    assert said.count("\n") == 1
    assert rows(world) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody"], "nobody"),
        (["p", "--from", "3.0"], "found no release up 3.0, expected one such as 1.1"),
        (["p", "--from", "2.0"], "found no release up 2.0"),
    ],
)
def test_what_is_not_there(
    world: World, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    """A patch, a release to carry it from: one line, exit code 2."""
    world.pack(row("p", None, EDIT, **TEXTS))
    assert main(["rebase", *words, "--to", "2.0"]) == 2
    assert said in capsys.readouterr().err


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
