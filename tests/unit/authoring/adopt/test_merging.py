"""A merge of three texts: git's, and both of two changes that only touch."""

from __future__ import annotations

import subprocess
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from patchkit.authoring.adopt.merging import merged
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.processes  # git
BASE = "".join(f"line {n}\n" for n in range(6))
LINES = [f"line {n}" for n in range(6)]
MANY = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@st.composite
def sides(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """A base of lines that all differ, and two sides that delete, replace and insert some."""
    base = LINES[: draw(st.integers(1, 6))]
    found = []
    for side in ("ours", "theirs"):
        lines = ["def"]
        for at, line in enumerate(base):
            done = draw(st.sampled_from(["stay"] * 5 + ["delete", "replace", "insert"]))
            lines += [f"{side} before {at}"] * (done == "insert")
            lines += [f"{side} {at}"] * (done == "replace")
            lines += [line] * (done in ("stay", "insert"))
        lines += ["both at end"] * draw(st.booleans())
        found.append(lines)
    return ["def", *base], *found


def of_git(base: str, ours: str, theirs: str) -> tuple[int, str]:
    """What git itself makes of it: the number of conflicts, and the text."""
    with TemporaryDirectory() as folder:
        for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
            Path(folder, name).write_text(text)
        done = subprocess.run(
            ["git", "merge-file", "-p", "--diff3", "ours", "base", "theirs"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def text_of(lines: list[str]) -> str:
    return "".join(f"{one}\n" for one in lines)


def changed(base: list[str], side: list[str]) -> Iterator[tuple[int, int]]:
    """The lines of the base that a side has changed, from and up to."""
    for tag, start, end, *_ in SequenceMatcher(
        None, base, side, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            yield start, end


@MANY
@given(sides())
def test_what_git_merges_is_merged_so(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """Where git sees no conflict its text is it; a conflict that is left is one of git's, too."""
    count, text = of_git(*map(text_of, texts))
    done = merged(*map(text_of, texts))
    if not count:
        assert (f"{done.text}\n", done.conflicts) == (text, [])
    assert len(done.conflicts) <= count


@MANY
@given(sides())
def test_no_change_of_either_side_is_lost(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """Without a conflict all that a side has added is there, and what it has deleted is not."""
    base, ours, theirs = texts
    done = merged(*map(text_of, texts))
    if done.conflicts:
        return
    lines = done.text.splitlines()
    for side in (ours, theirs):
        assert {one for one in side if one not in base} <= set(lines)
        assert not {one for one in base if one not in side} & set(lines)
    stay = [one for one in base if one in ours and one in theirs]
    assert [one for one in lines if one in base] == stay
    assert set(lines) <= {*base, *ours, *theirs}


@MANY
@given(sides())
def test_a_conflict_shows_all_sides(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """And it is one: the changes overlap, or both sides have inserted at one place."""
    base, ours, theirs = texts
    done = merged(*map(text_of, texts))
    for one in done.conflicts:
        assert one.startswith("<<<<<<< yours\n")
        assert "\n||||||| before\n" in one
        assert "\n=======\n" in one
        assert one.endswith(">>>>>>> upstream\n")
    if done.conflicts:
        pairs = [(a, b) for a in changed(base, ours) for b in changed(base, theirs)]
        assert any(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("a\nB\nc", "a\nb\nC", "a\nB\nC"),
        ("a\nc", "a\nb\nC", "a\nC"),
        ("a\nnew\nb\nc", "a\nB\nc", "a\nnew\nB\nc"),
        ("a\nb\nnew\nc", "a\nB\nc", "a\nB\nnew\nc"),
        ("a\nB\nc", "a\nB\nc", "a\nB\nc"),
        ("a\nb\nc\nnew", "a\nb\nc\nnew", "a\nb\nc\nnew"),
        ("a\nb\nc\nours", "a\nb\nc\ntheirs", None),
        ("a\nB\nc", "a\nBB\nc", None),
        ("a\nc", "a\nB\nc", None),
        ("a\nB\nC", "a\nb\nCC", None),
        ("a\n\u2028b\x0c\nc", "a\nb\nc\nü ✓", "a\n\u2028b\x0c\nc\nü ✓"),
    ],
)
def test_changes_that_touch(ours: str, theirs: str, expected: str | None) -> None:
    """Both are made, ours and upstream's; two of one line, or two at one place, are a conflict."""
    done = merged("a\nb\nc\n", ours, theirs)
    assert bool(done.conflicts) is (expected is None)
    if expected is not None:
        assert done.text == expected


def test_several_conflicts_are_told_one_by_one() -> None:
    """What lies between them is merged."""
    ours, theirs = (
        BASE.replace("0", "O").replace("5", "O"),
        BASE.replace("0", "T").replace("5", "T"),
    )
    done = merged(BASE, ours, theirs)
    assert [one.count("<<<<<<<") for one in done.conflicts] == [1, 1]
    assert "line 2\nline 3" in done.text


def test_no_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One error says what is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ScaffoldError, match="git: No such file or directory, expected it on PATH"
    ):
        merged(BASE, BASE, BASE)


def test_a_git_that_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What it says is told, as of a text that is none."""
    with pytest.raises(ScaffoldError, match=r"git merge-file: .*binary"):
        merged(BASE, BASE + "\0", BASE)


def test_settings_of_git_do_not_matter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another style of conflicts, a repository that is none, another language."""
    (tmp_path / ".gitconfig").write_text(
        "[merge]\n\tconflictStyle = merge\n[core]\n\tautocrlf = true\n"
    )
    for name, value in (
        ("HOME", str(tmp_path)),
        ("GIT_DIR", "/nowhere"),
        ("LANG", "C"),
    ):
        monkeypatch.setenv(name, value)
    (one,) = merged(BASE, BASE.replace("3", "O"), BASE.replace("3", "T")).conflicts
    assert one == (
        "<<<<<<< yours\nline O\n||||||| before\nline 3\n=======\nline T\n>>>>>>> upstream\n"
    )
