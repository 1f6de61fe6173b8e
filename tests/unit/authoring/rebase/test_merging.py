"""A merge of three texts: git's, and both of two changes that only touch."""

from __future__ import annotations

import itertools
import subprocess
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from patchkit.authoring.rebase.merging import merged
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
    changed_sides = []
    for side in ("ours", "theirs"):
        lines = ["def"]
        for at, line in enumerate(base):
            actions = ["stay"] * 5 + ["delete", "replace", "insert"]
            action = draw(st.sampled_from(actions))
            if action == "insert":
                lines.append(f"{side} before {at}")
            if action == "replace":
                lines.append(f"{side} {at}")
            if action in ("stay", "insert"):
                lines.append(line)
        if draw(st.booleans()):
            lines.append("both at end")
        changed_sides.append(lines)
    return ["def", *base], *changed_sides


def of_git(base: str, ours: str, theirs: str) -> tuple[int, str]:
    """Merge three texts with git itself, and return the number of conflicts and the text."""
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
    return "".join(f"{line}\n" for line in lines)


def changed(base: list[str], side: list[str]) -> Iterator[tuple[int, int]]:
    """The lines of the base that a side has changed, from and up to."""
    for tag, start, end, *_ in SequenceMatcher(
        None, base, side, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            yield start, end


@MANY
@given(sides())
def test_what_git_merges_is_merged_as_git_does(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """Without a conflict of git's, the text is git's; never are there more conflicts than git's."""
    count, text = of_git(*map(text_of, texts))
    merge = merged(*map(text_of, texts))
    if not count:
        assert merge.conflicts == []
        assert f"{merge.text}\n" == text
    assert len(merge.conflicts) <= count


@MANY
@given(sides())
@example(  # upstream has taken out a line that we kept, and put in what we put in, too
    (
        ["def", *LINES[:5]],
        ["def", *LINES[:4], "both at end"],
        ["def", *LINES[:3], "both at end"],
    )
)
def test_no_change_of_either_side_is_lost(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """Without a conflict, all that a side has added is there, and what it has deleted is not."""
    base, ours, theirs = texts
    merge = merged(*map(text_of, texts))
    if merge.conflicts:
        return
    lines = merge.text.splitlines()
    for side in (ours, theirs):
        added = set(side) - set(base)
        deleted = set(base) - set(side)
        assert added <= set(lines)
        assert deleted.isdisjoint(lines)
    kept = [line for line in base if line in ours and line in theirs]
    assert [line for line in lines if line in base] == kept
    assert set(lines) <= {*base, *ours, *theirs}


@MANY
@given(sides())
def test_a_conflict_shows_all_sides_and_is_one(
    texts: tuple[list[str], list[str], list[str]],
) -> None:
    """It has yours, the base and upstream's, and some changes of both sides overlap or touch."""
    base, ours, theirs = texts
    merge = merged(*map(text_of, texts))
    for conflict in merge.conflicts:
        assert conflict.startswith("<<<<<<< yours\n")
        assert "\n||||||| before\n" in conflict
        assert "\n=======\n" in conflict
        assert conflict.endswith(">>>>>>> upstream\n")
    if merge.conflicts:
        pairs = itertools.product(changed(base, ours), changed(base, theirs))
        assert any(
            our_start <= their_end and their_start <= our_end
            for (our_start, our_end), (their_start, their_end) in pairs
        )


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
    """Changes of neighbouring lines are made; two of one line or at one place are a conflict."""
    merge = merged("a\nb\nc\n", ours, theirs)
    assert bool(merge.conflicts) is (expected is None)
    if expected is not None:
        assert merge.text == expected


def test_several_conflicts_are_listed_one_by_one() -> None:
    """What lies between two conflicts is merged."""
    ours = BASE.replace("0", "O").replace("5", "O")
    theirs = BASE.replace("0", "T").replace("5", "T")
    merge = merged(BASE, ours, theirs)
    assert [conflict.count("<<<<<<<") for conflict in merge.conflicts] == [1, 1]
    assert "line 2\nline 3" in merge.text


def test_without_git_one_error_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error says that git was expected on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    fault = "git: No such file or directory, expected it on PATH"
    with pytest.raises(ScaffoldError, match=fault):
        merged(BASE, BASE, BASE)


def test_a_git_that_fails_is_quoted() -> None:
    """The error has git's own message, here of a file that is binary."""
    with pytest.raises(ScaffoldError, match=r"git merge-file: .*binary"):
        merged(BASE, BASE + "\0", BASE)


def test_settings_of_git_change_no_merge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Style of conflicts, line ends, a wrong `GIT_DIR` and the language make no difference."""
    (tmp_path / ".gitconfig").write_text(
        "[merge]\n\tconflictStyle = merge\n[core]\n\tautocrlf = true\n"
    )
    for name, value in (
        ("HOME", str(tmp_path)),
        ("GIT_DIR", "/nowhere"),
        ("LANG", "C"),
    ):
        monkeypatch.setenv(name, value)
    merge = merged(BASE, BASE.replace("3", "O"), BASE.replace("3", "T"))
    (conflict,) = merge.conflicts
    assert conflict == (
        "<<<<<<< yours\nline O\n||||||| before\nline 3\n=======\nline T\n>>>>>>> upstream\n"
    )
