"""Unified diffs, as git writes them."""

from __future__ import annotations

import difflib
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.diffs.plain_diff import read_plain
from patchkit.authoring.diffs.unified import applied, read_diff
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from pathlib import Path

OLD = "".join(f"line {n}\n" for n in range(30))
NEW = (
    OLD.replace("line 3\n", "three\n")
    .replace("line 20\n", "")
    .replace("line 25\n", "line 25\nmore\n")
)


def unified(old: str, new: str, path: str) -> str:
    """The diff of a file, as difflib writes it."""
    old_lines = old.splitlines(True)
    new_lines = new.splitlines(True)
    diff = difflib.unified_diff(old_lines, new_lines, f"a/{path}", f"b/{path}")
    return "".join(diff)


def test_several_hunks_of_several_files_are_read() -> None:
    """A mail's words before the diff are passed over, and the hunks apply."""
    diff = unified(OLD, NEW, "x.py") + unified(OLD, NEW, "src/y.py")
    files = read_diff("some.diff", f"Subject: words\n---\n x.py | 2 +-\n\n{diff}")
    assert [(file.old, file.new, len(file.hunks)) for file in files] == [
        ("x.py", "x.py", 2),
        ("src/y.py", "src/y.py", 2),
    ]
    assert applied(files[0].hunks, OLD.encode()).text == NEW.encode()


@pytest.mark.processes
def test_a_diff_that_git_writes_is_read_and_applied(tmp_path: Path) -> None:
    """It has a new file, a file that is gone, and one without a newline at its end."""
    for side, files in (
        ("a", {"m.py": OLD, "gone.py": "x = 1\n"}),
        ("b", {"m.py": NEW.rstrip("\n"), "new.py": "y = 1\n"}),
    ):
        (tmp_path / side).mkdir()
        for name, text in files.items():
            (tmp_path / side / name).write_text(text)
    done = subprocess.run(
        ["git", "diff", "--no-index", "a", "b"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    files_by_name = {}
    for file in read_diff("-", done.stdout):
        path = file.old or file.new or ""
        files_by_name[path.rpartition("/")[2]] = file
    assert files_by_name["new.py"].old is None
    assert files_by_name["gone.py"].new is None
    assert applied(files_by_name["new.py"].hunks, b"").text == b"y = 1\n"
    result = applied(files_by_name["m.py"].hunks, OLD.encode()).text
    # A module ends with a newline, whatever the diff says.
    assert result == NEW.encode()


def test_a_hunk_is_applied_where_its_lines_are_by_now() -> None:
    (file,) = read_diff("-", "--- a/x.py\n+++ b/x.py\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n")
    result = applied(file.hunks, b"0\n1\na\nb\nc\nd\n").text
    assert result == b"0\n1\na\nb\nC\nd\n"


def test_a_hunk_without_a_place_names_what_is_near() -> None:
    (file,) = read_diff(
        "-", "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-return call(a, b)\n+return 1\n"
    )
    (failed,) = applied(file.hunks, b"x = 1\nreturn call(a, c)\n").failed
    assert failed.near == "2  return call(a, c)"
    assert failed.first_line == "return call(a, b)"


def test_nothing_is_near_in_an_empty_file() -> None:
    """It has no line that could be like the hunk's; its hunk is one that does not fit."""
    (file,) = read_diff(
        "-", "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-a = 1\n+a = 2\n"
    )
    result = applied(file.hunks, b"")
    assert [failed.near for failed in result.failed] == [""]
    assert result.text == b""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("no diff", "expected a unified diff"),
        (
            "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n",
            "some.diff:6: found 'end', expected more of a hunk",
        ),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n@@", "some.diff:5: found '@'"),
    ],
)
def test_what_is_cut_off_is_refused(text: str, fault: str) -> None:
    with pytest.raises(ScaffoldError, match=fault):
        read_diff("some.diff", text)


TEXTS = st.lists(st.sampled_from("abcd"), max_size=20)


@given(TEXTS, TEXTS)
def test_what_difflib_writes_is_applied(old: list[str], new: list[str]) -> None:
    old_text = "".join(f"{line}\n" for line in old)
    new_text = "".join(f"{line}\n" for line in new)
    result = old_text.encode()
    diff = unified(old_text, new_text, "x")
    if diff:
        file, *_ = read_diff("-", diff)
        result = applied(file.hunks, result).text
    assert result == new_text.encode()


@pytest.mark.parametrize("header", ["@@ -{} +1 @@", "@@ -1,{} +1 @@", "@@ -1 +1,{} @@"])
def test_a_hunk_at_a_line_that_no_file_has_is_refused(header: str) -> None:
    """Python converts no number of so many digits."""
    diff = f"--- a/x\n+++ b/x\n{header.format('9' * 5_000)}\n-a\n+b\n"
    with pytest.raises(ScaffoldError, match=r"some\.diff: .* 5,000 digits"):
        read_diff("some.diff", diff)


def test_a_hunk_of_a_plain_diff_at_such_a_line_is_refused() -> None:
    """As one of a unified diff."""
    with pytest.raises(ScaffoldError, match=r"some\.diff: .* 5,000 digits"):
        read_plain("some.diff", f"{'9' * 5_000}d1\n< a\n", "x.py")
