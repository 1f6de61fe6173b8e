"""Unified diffs, as git writes them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchkit.authoring.adopt.unified import applied, read_diff
from patchkit.errors import ScaffoldError

if TYPE_CHECKING:
    from pathlib import Path

OLD = "".join(f"line {n}\n" for n in range(30))
NEW = (
    OLD.replace("line 3\n", "three\n")
    .replace("line 20\n", "")
    .replace("line 25\n", "line 25\nmore\n")
)


def test_several_hunks_of_several_files() -> None:
    import difflib

    text = "".join(
        "".join(
            difflib.unified_diff(
                OLD.splitlines(True), NEW.splitlines(True), f"a/{one}", f"b/{one}"
            )
        )
        for one in ("x.py", "src/y.py")
    )
    files = read_diff("some.diff", f"Subject: words\n---\n x.py | 2 +-\n\n{text}")
    assert [(one.old, one.new, len(one.hunks)) for one in files] == [
        ("x.py", "x.py", 2),
        ("src/y.py", "src/y.py", 2),
    ]
    assert applied(files[0].hunks, OLD.encode(), "x.py") == NEW.encode()


@pytest.mark.processes
def test_what_git_writes(tmp_path: Path) -> None:
    """New files, files that are gone, and no newline at the end."""
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
    found = {one.old or one.new: one for one in read_diff("-", done.stdout)}
    ends = {name.rpartition("/")[2]: one for name, one in found.items() if name}
    assert (ends["new.py"].old, ends["gone.py"].new) == (None, None)
    assert applied(ends["new.py"].hunks, b"", "new.py") == b"y = 1\n"
    assert (
        applied(ends["m.py"].hunks, OLD.encode(), "m.py").rstrip()
        == NEW.rstrip().encode()
    )


def test_lines_are_found_where_they_are_by_now() -> None:
    (file,) = read_diff("-", "--- a/x.py\n+++ b/x.py\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n")
    assert applied(file.hunks, b"0\n1\na\nb\nc\nd\n", "x.py") == b"0\n1\na\nb\nC\nd\n"


def test_a_hunk_without_a_place_names_what_is_near() -> None:
    (file,) = read_diff(
        "-", "--- a/x.py\n+++ b/x.py\n@@ -1,1 +1,1 @@\n-return call(a, b)\n+return 1\n"
    )
    with pytest.raises(
        ScaffoldError,
        match=r"x\.py: found no lines as the hunk at line 1.*call\(a, c\)",
    ):
        applied(file.hunks, b"x = 1\nreturn call(a, c)\n", "x.py")


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
    import difflib

    texts = ["".join(f"{one}\n" for one in some) for some in (old, new)]
    diff = "".join(
        difflib.unified_diff(*(one.splitlines(True) for one in texts), "a/x", "b/x")
    )
    files = read_diff("-", diff) if diff else []
    result = (
        applied(files[0].hunks, texts[0].encode(), "x") if files else texts[0].encode()
    )
    assert result == texts[1].encode()
