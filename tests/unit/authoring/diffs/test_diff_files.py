"""The files of a release that a diff changes: paths, hunks that do not fit, other formats."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.packages import World, world

from authoring.diffs.diff_of_up import adopt_diff, places
from authoring.index_of_up import INTO_MINE, serve
from patchkit.cli import main

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["world"]

LIB = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
UP: Mapping[str, str] = {
    "lib": LIB,
    "core/__init__": "",
    "core/lib": LIB,
    "core/one": LIB,
}
HUNK = "@@ -1,2 +1,2 @@\n def f():\n-    return 1\n+    return 5\n"
WRONG = "@@ -5,2 +5,2 @@\n def g():\n-    return 9\n+    return 5\n"


def diff_of(old: str, new: str, *hunks: str) -> str:
    """A diff of one file."""
    return f"--- {old}\n+++ {new}\n{''.join(hunks)}"


@pytest.mark.parametrize(
    ("path", "words", "expected"),
    [
        ("a/up/lib.py", [], "Edit up.lib:f"),
        ("a/python/up/lib.py", [], "Edit up.lib:f"),
        ("/usr/lib/site-packages/up/lib.py", [], "Edit up.lib:f"),
        ("core/one.py", [], "Edit up.core.one:f"),
        ("one.py", [], "Edit up.core.one:f"),
        ("lib.py", [], "left lib.py"),
        ("lib.py", ["--prefix", "up/core"], "Edit up.core.lib:f"),
        ("x/y/up/lib.py", ["-p", "2"], "Edit up.lib:f"),
        ("x/y/up/lib.py", ["-p", "3"], "left lib.py"),
        ("tmp/1.py", ["--file", "up/core/lib.py"], "Edit up.core.lib:f"),
        ("a/tests/test_lib.py", [], "left tests/test_lib.py"),
    ],
)
def test_paths_lead_to_the_files_of_the_release(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    words: list[str],
    expected: str,
) -> None:
    """They may have folders before them, or lack some, as long as one file alone is meant."""
    text = diff_of(path, path.replace("a/", "b/", 1), HUNK)
    report = adopt_diff(world, monkeypatch, capsys, UP, text, *words)
    assert places(report) == [expected]


def test_files_that_may_be_meant_are_named(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of several that end alike, the person says which it is."""
    text = diff_of("lib.py", "lib.py", HUNK)
    report = adopt_diff(world, monkeypatch, capsys, UP, text)
    (left,) = report["left"]
    assert "up/core/lib.py and up/lib.py: --prefix says which" in left["reason"]


def test_a_test_beside_a_file_is_no_module(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Suffixes count only if no path of the diff is that of a file."""
    text = diff_of("a/up/lib.py", "b/up/lib.py", HUNK)
    text += diff_of("a/tests/up/core/one.py", "b/tests/up/core/one.py", HUNK)
    report = adopt_diff(world, monkeypatch, capsys, UP, text)
    assert places(report) == ["Edit up.lib:f", "left tests/up/core/one.py"]


def test_all_hunks_that_do_not_fit_are_in_one_list(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written then; with `--keep-going`, the other hunks become rows."""
    text = diff_of("a/up/lib.py", "b/up/lib.py", HUNK, WRONG)
    text += diff_of("a/up/core/one.py", "b/up/core/one.py", WRONG)
    serve(world, monkeypatch, {"1.0": UP})
    (world.folder / "some.diff").write_text(text)
    assert main(["adopt", "some.diff", *INTO_MINE]) == 2
    error = capsys.readouterr().err
    assert error.count("found none of the lines that the hunk at line 5 changes") == 2
    assert "some.diff: up/core/one.py" in error
    assert "--keep-going" in error
    words = ["--keep-going", "--format", "json"]
    assert main(["adopt", "some.diff", *INTO_MINE, *words]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [(code["line"], code["code"]) for code in report["left"]] == [
        (5, "return 9"),
        (5, "return 9"),
    ]
    assert [patch["name"] for patch in report["patches"]] == ["lib"]


def test_a_diff_without_names_is_for_the_file_that_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff a b` writes none; `diff -r` does."""
    text = "2c2\n<     return 1\n---\n>     return 5\n6a7,9\n> \n> \n> X = 1\n"
    report = adopt_diff(world, monkeypatch, capsys, UP, text, "--file", "up/lib.py")
    assert places(report) == ["Add up.lib:X", "Edit up.lib:f"]
    (world.folder / "other.diff").write_text(text)
    words = ["--into", "other", "--releases", "up==1.0", "--format", "json"]
    assert main(["adopt", "other.diff", *words]) == 2
    assert "expected --file PATH" in capsys.readouterr().err
    recursive = f"diff -r old/up/core/one.py new/up/core/one.py\n{text}"
    (world.folder / "other.diff").write_text(recursive)
    assert main(["adopt", "other.diff", *words]) == 0
    report = json.loads(capsys.readouterr().out)
    assert places(report) == ["Add up.core.one:X", "Edit up.core.one:f"]


def test_a_plain_diff_that_is_cut_off_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    serve(world, monkeypatch, {"1.0": UP})
    (world.folder / "some.diff").write_text("2c2\n<     return 1\n---\n")
    assert main(["adopt", "some.diff", *INTO_MINE, "--file", "up/lib.py"]) == 2
    assert "some.diff:4: expected more of a hunk" in capsys.readouterr().err


RENAMED = """diff --git a/up/lib.py b/up/core/two.py
similarity index 100%
rename from up/lib.py
rename to up/core/two.py
"""
RENAMED_AND_CHANGED = f"""{RENAMED}--- a/up/lib.py
+++ b/up/core/two.py
{HUNK}"""
EMPTY = """diff --git a/up/new/__init__.py b/up/new/__init__.py
new file mode 100644
index 0000000..e69de29
"""
DELETED = """diff --git a/up/core/one.py b/up/core/one.py
deleted file mode 100644
index e69de29..0000000
"""
COPIED = RENAMED.replace("rename", "copy")
MODE = """diff --git a/up/core/one.py b/up/core/one.py
old mode 100644
new mode 100755
"""
BINARY = """diff --git a/up/x.bin b/up/x.bin
index 1..2 100644
Binary files a/up/x.bin and b/up/x.bin differ
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RENAMED, ["Provide up.core.two", "left up.lib"]),
        (RENAMED_AND_CHANGED, ["Provide up.core.two", "left up.lib"]),
        (COPIED, ["Provide up.core.two"]),
        (EMPTY, ["Provide up.new"]),
        (DELETED, ["left up.core.one"]),
        (BINARY, ["left up/x.bin"]),
        (MODE + EMPTY, ["Provide up.new"]),
        (
            diff_of("a/up/n.py", "b/up/n.py", "@@ -0,0 +1 @@\n+x = 1\n"),
            ["Provide up.n"],
        ),
        ("Only in b/up: n.py\n" + EMPTY, ["Provide up.new", "left b/up/n.py"]),
    ],
)
def test_files_that_are_new_renamed_or_gone(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    expected: list[str],
) -> None:
    """A new file becomes a module, also without content; one that is gone is listed."""
    report = adopt_diff(world, monkeypatch, capsys, UP, text)
    assert places(report) == expected
    if text is RENAMED_AND_CHANGED:
        body = (world.folder / "mine" / "patch_core_two.py").read_text()
        assert "return 5" in body


def test_a_provided_package_holds_for_the_modules_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` knows that another row of the pack provides the package around a module."""
    text = EMPTY + diff_of("/dev/null", "b/up/new/m.py", "@@ -0,0 +1 @@\n+x = 1\n")
    report = adopt_diff(world, monkeypatch, capsys, UP, text)
    assert places(report) == ["Provide up.new", "Provide up.new.m"]
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0


def test_a_hunk_without_context_comes_after_the_line_that_it_names(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`diff -U0` names the line above what it adds."""
    text = diff_of("a/up/lib.py", "b/up/lib.py", "@@ -2,0 +3 @@\n+    return 3\n")
    adopt_diff(world, monkeypatch, capsys, UP, text)
    rows = (world.folder / "mine" / "__init__.py").read_text()
    assert r"return 1\nreturn 3" in rows or r"return 1\n    return 3" in rows


def test_rows_require_the_package_of_the_release(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody has to say `--of` as well."""
    serve(world, monkeypatch, {"1.0": UP})
    (world.folder / "some.diff").write_text(diff_of("a/up/lib.py", "b/up/lib.py", HUNK))
    assert main(["adopt", "some.diff", "--into", "mine", "--releases", "up==1.0"]) == 0
    rows = (world.folder / "mine" / "__init__.py").read_text()
    assert 'requires=("up==1.0",)' in rows
    tree = world.folder / "tree"
    (tree / "up").mkdir(parents=True)
    (tree / "up" / "__init__.py").write_text("__version__ = '1.0'\n")
    (tree / "up" / "lib.py").write_text(LIB)
    assert main(["adopt", "some.diff", "--into", "other", "--path", str(tree)]) == 0
    rows = (world.folder / "other" / "__init__.py").read_text()
    assert 'requires=("up==1.0",)' in rows


def test_a_later_release_of_the_named_package_needs_no_of(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    later = {**UP, "lib": LIB.replace("return 1", "return 5")}
    serve(world, monkeypatch, {"1.0": UP, "1.1": later})
    assert main(["adopt", "up==1.1", "--into", "mine", "--releases", "up==1.0"]) == 0
    assert 'requires=("up==1.0",)' in (world.folder / "mine/__init__.py").read_text()


def test_options_of_diffs_are_refused_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(world.folder)
    assert main(["adopt", "some_pile", "--into", "mine", "--keep-going"]) == 2
    assert "expected a diff" in capsys.readouterr().err


def test_a_hunk_for_an_empty_file_is_one_that_does_not_fit(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No line is near it then, so that the message quotes none."""
    serve(world, monkeypatch, {"1.0": UP})
    diff = world.folder / "some.diff"
    diff.write_text(diff_of("a/up/__init__.py", "b/up/__init__.py", HUNK))
    assert main(["adopt", str(diff), *INTO_MINE]) == 2
    message = capsys.readouterr().err
    assert "found none of the lines that the hunk at line 1 changes" in message
    assert "nearest" not in message


def test_a_path_that_drives_a_terminal_is_spelt_out(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe too, which may end at a terminal."""
    serve(world, monkeypatch, {"1.0": UP})
    path = "up/\x1b[31mred.py"
    (world.folder / "some.diff").write_text(diff_of(f"a/{path}", f"b/{path}", HUNK))
    assert main(["adopt", "some.diff", *INTO_MINE]) == 1
    out = capsys.readouterr().out
    assert r"up/\x1b[31mred.py:1" in out
    assert "\x1b" not in out
