"""`patchkit adopt`: rows of a diff, of a later release, of an edited installation."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from support.packages import World, world

from authoring.index_of_up import INTO_MINE, serve
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["world"]

OLD = {"lib": "LIMIT = 1\n\n\ndef f(a):\n    return a\n", "gone": "x = 1\n"}
NEW = {
    "lib": "LIMIT = 2\n\n\ndef f(a):\n    return a + 1\n\n\ndef g():\n    return f(LIMIT)\n",
    "new": "from .lib import f\n\n\ndef h():\n    return f(1)\n",
}
DIFF = """Subject: [PATCH] words

--- a/src/up/lib.py
+++ b/src/up/lib.py
@@ -4,2 +4,2 @@
 def f(a):
-    return a
+    return a + 1
--- a/tests/test_lib.py
+++ b/tests/test_lib.py
@@ -1,1 +1,1 @@
-1
+2
"""


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two releases of `up` on an index."""
    serve(world, monkeypatch, {"1.0": OLD, "1.1": NEW})
    return world.folder


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, list[str]]:
    """Adopt what `words` name into `mine`, and return the kinds of each row's changes."""
    capsys.readouterr()
    code = main(["adopt", *words, "--into", "mine", "--of", "up", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert code == bool(report["left"])
    return {
        patch["name"]: [change["kind"] for change in patch["changes"]]
        for patch in report["patches"]
    }


def test_a_later_release_becomes_a_pack(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` accepts its pack for the release that it starts from; what no row says is listed."""
    kinds = rows(capsys, "up==1.1", "--releases", "up==1.0")
    assert kinds == {"lib": ["Add", "Replace", "Edit"], "new": ["Provide"]}
    assert "from up.lib import f" in (here / "mine" / "patch_new.py").read_text()
    sys.path_importer_cache.clear()
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0
    words = ["up==1.1", "--into", "other", "--of", "up", "--releases", "up==1.0"]
    assert main(["adopt", *words]) == 1
    out = capsys.readouterr().out
    assert "up/gone.py:1  up.gone\n    the file is gone there" in out


def test_a_row_that_uses_what_is_in_no_row_is_named(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no row expresses is listed with the rows that use it, as these may do harm alone."""
    old = {"lib": "class C:\n    a: int\n", "user": "def f(c):\n    return c.a\n"}
    new = {
        "lib": "class C:\n    a: int\n    b: int\n",
        "user": "def f(c):\n    return c.b\n",
    }
    write_wheels(here, {"2.0": old, "2.1": new})
    words = [
        "up==2.1",
        "--into",
        "mine",
        "--of",
        "up",
        "--releases",
        "up==2.0",
        "--format",
        "json",
    ]
    assert main(["adopt", *words]) == 1
    (left,) = json.loads(capsys.readouterr().out)["left"]
    assert (left["place"], left["used_by"]) == ("up.lib:C.b", ["user"])


def test_a_diff_becomes_rows(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of the diff that the release does not have, such as tests, are listed."""
    (here / "some.diff").write_text(DIFF)
    words = ["adopt", "some.diff", *INTO_MINE]
    assert main([*words, "--dry-run"]) == 1
    out = capsys.readouterr().out
    place = "tests/test_lib.py:1  tests/test_lib.py"
    assert f"{place}\n    the release has no such file" in out
    assert not (here / "mine").exists()
    assert rows(capsys, "some.diff", "--releases", "up==1.0") == {"lib": ["Edit"]}
    assert main(words) == 2  # a pack that is there stays as it is


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            DIFF.replace("return a\n", "return b\n"),
            "nearest begin with line '4  def f(a):'",
        ),
        ("", "expected a unified diff"),
        (None, "No such file"),
    ],
)
def test_a_diff_that_does_not_fit_the_release_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], text: str | None, fault: str
) -> None:
    """Text that is no diff of the release, or no file, is one error, and nothing is written."""
    if text is not None:
        (here / "some.diff").write_text(text)
    words = ["adopt", "some.diff", *INTO_MINE]
    assert main(words) == 2
    assert fault in capsys.readouterr().err
    assert not (here / "mine").exists()


def record_digest(text: str) -> str:
    """The SHA-256 of a file, as RECORD writes it."""
    digest = hashlib.sha256(text.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@pytest.fixture
def installed(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file `up/lib.py` of an installation that is as it was released."""
    site = here / "site"
    (site / "up-1.0.dist-info").mkdir(parents=True)
    (site / "up").mkdir()
    record = ""
    for name, text in {"__init__": "", **OLD}.items():
        (site / "up" / f"{name}.py").write_text(text)
        record += f"up/{name}.py,sha256={record_digest(text)},{len(text)}\n"
    (site / "up-1.0.dist-info" / "METADATA").write_text("Name: up\nVersion: 1.0\n")
    (site / "up-1.0.dist-info" / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(str(site))
    return site / "up" / "lib.py"


def test_an_edited_installation_becomes_rows(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files with another hash than in RECORD become rows; `--restore` gives back the originals."""
    words = ["adopt", "up", "--installed", "--into", "mine", "--of", "up"]
    assert main(words) == 2
    assert "contains no change that a row can express" in capsys.readouterr().err
    installed.write_text(NEW["lib"])
    assert rows(capsys, "up", "--installed", "--restore") == {
        "lib": ["Add", "Replace", "Edit"]
    }
    assert installed.read_text() == OLD["lib"]


@pytest.mark.parametrize(
    "record", [b"up/\xff.py,,\n", b"x" * 200_000 + b",,\n"], ids=["bytes", "long"]
)
def test_a_record_that_cannot_be_read_is_named(
    here: Path, installed: Path, capsys: pytest.CaptureFixture[str], record: bytes
) -> None:
    """It does not tell what was edited: the error names it, and the distribution."""
    assert installed.exists()
    (here / "site" / "up-1.0.dist-info" / "RECORD").write_bytes(record)
    assert main(["adopt", "up", "--installed", "--into", "mine", "--of", "up"]) == 2
    assert "up: found a RECORD that cannot be read (" in capsys.readouterr().err


def test_odd_lines_of_a_record_are_passed_over(
    here: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty lines, algorithms that hash nothing, and names that no file has say nothing.

    Nor does the RECORD of another distribution that cannot be read.
    """
    file = here / "site" / "up-1.0.dist-info" / "RECORD"
    odd = "\nup/a.py,shake_128=x,1\nup/b.py,nosuch=x,1\nup/c.py\n"
    file.write_text(f"{odd}{file.read_text()}\n")
    other = here / "site" / "other-1.0.dist-info"
    other.mkdir()
    (other / "RECORD").write_bytes(b"\xff")
    installed.write_text(NEW["lib"])
    (installed.parent / "more.py").write_text("x = 1\n")
    found = rows(capsys, "up", "--installed")
    assert found["lib"] == ["Add", "Replace", "Edit"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [("\0", "expected the same build"), ("x" * 300, "cannot be read (")],
    ids=["null", "long"],
)
def test_a_name_in_a_record_that_no_file_can_have_is_no_fault_of_patchkits(
    here: Path,
    installed: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    fault: str,
) -> None:
    file = here / "site" / "up-1.0.dist-info" / "RECORD"
    file.write_text(f"{file.read_text()}up/{name}.py,sha256=x,1\n")
    installed.write_text(NEW["lib"])
    words = ["adopt", "up", "--installed", "--into", "mine", "--of", "up"]
    assert main(words) == 2
    assert fault in capsys.readouterr().err


def test_no_file_is_given_back_while_something_is_in_no_row(
    here: Path, installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--restore` writes no file then, as what no row expresses stands in the edited file alone."""
    edited = NEW["lib"] + "\n\nfor name in 'a b'.split():\n    globals()[name] = 1\n"
    installed.write_text(edited)
    words = ["adopt", "up", "--installed", "--restore", "--into", "mine", "--of", "up"]
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "\nnot expressed\n" in out
    assert (
        "--restore: no file was given back, as what no row expresses would be lost"
        in err
    )
    assert installed.read_text() == edited
    assert (here / "mine").exists()


def test_another_build_than_the_index_has_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was edited is not known then: it is one error, and `--restore` writes no file."""
    site = here / "site"
    (site / "up-1.0.dist-info").mkdir(parents=True)
    (site / "up").mkdir()
    (site / "up" / "lib.py").write_text("edited = 1\n")
    digest = record_digest("another = 1\n")
    (site / "up-1.0.dist-info" / "METADATA").write_text("Name: up\nVersion: 1.0\n")
    record = f"up/lib.py,sha256={digest},12\n"
    (site / "up-1.0.dist-info" / "RECORD").write_text(record)
    monkeypatch.syspath_prepend(str(site))
    words = ["adopt", "up", "--installed", "--restore", "--into", "mine", "--of", "up"]
    assert main(words) == 2
    assert "expected the same build" in capsys.readouterr().err
    assert (site / "up" / "lib.py").read_text() == "edited = 1\n"


def test_modules_that_are_named_alike_have_rows_of_their_own(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = ("def f():\n    return 1\n", "def f():\n    return 2\n")
    write_wheels(here, {"2.0": {"a": old, "_a": old}, "2.1": {"a": new, "_a": new}})
    assert rows(capsys, "up==2.1", "--releases", "up==2.0").keys() == {"a", "a-1"}


@pytest.mark.parametrize("path", ["up/my-file.py", "up/../evil.py", "up/new.pyi"])
def test_a_new_file_that_is_no_module_is_listed(
    here: Path, capsys: pytest.CaptureFixture[str], path: str
) -> None:
    """A diff that only adds such a file has no rows, and no pack is written."""
    (here / "some.diff").write_text(
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,1 @@\n+x = 1\n"
    )
    words = ["adopt", "some.diff", *INTO_MINE]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert out.startswith("0 rows mine, for up==1.0 (not written)\n\nnot expressed\n")
    assert out.endswith("\n0 of 1 changes are in rows\n")
    assert not (here / "mine").exists()


def test_wrong_use_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error names what is missing: an option, a distribution or a release."""
    assert main(["adopt", "up==1.1", "--into", "mine", "--restore"]) == 2
    assert "--restore: found no --installed" in capsys.readouterr().err
    assert main(["adopt", "nobody", "--installed", "--into", "mine"]) == 2
    assert "found no installed distribution 'nobody'" in capsys.readouterr().err
    words = ["up==9", *INTO_MINE]
    assert main(["adopt", *words]) == 2
    assert "found no release that 'up==9' allows" in capsys.readouterr().err


def test_a_file_that_somebody_added_becomes_a_module(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--restore` deletes it, as the row provides it."""
    added = installed.parent / "mine" / "new.py"
    added.parent.mkdir()
    added.write_text("x = 1\n")
    (added.parent / "data.txt").write_text("no code")
    assert rows(capsys, "up", "--installed", "--restore") == {
        "mine": ["Provide"],
        "mine-new": ["Provide"],
    }
    assert not added.exists()


def test_rows_of_an_installation_require_its_distribution(
    installed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody has to say `--of` as well."""
    installed.write_text(NEW["lib"])
    assert main(["adopt", "up", "--installed", "--into", "mine"]) == 0
    capsys.readouterr()
    pack = installed.parents[2] / "mine" / "__init__.py"
    assert 'requires=("up==1.0",)' in pack.read_text()


@pytest.mark.parametrize(
    ("into", "fault"),
    [
        ("up.fixes", "--into: found up.fixes, a place in up, which the rows patch"),
        ("up", "--into: found up, a place in up, which the rows patch"),
        ("class", "found 'class', expected a name to import, such as my_pack"),
        ("my.import", "found 'my.import', expected a name to import"),
    ],
)
def test_a_pack_has_a_place_and_a_name_of_its_own(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    into: str,
    fault: str,
) -> None:
    """An empty `__init__` of the package that is patched is not the user's."""
    world.module("up.lib", OLD["lib"])
    words = ["--into", into, "--of", "up", "--releases", "up==1.0"]
    capsys.readouterr()
    assert main(["adopt", "up==1.1", *words]) == 2
    assert fault in capsys.readouterr().err
    assert (here / "up" / "__init__.py").read_text() == ""
    files = {path.name for path in (here / "up").iterdir()}
    assert files <= {"__init__.py", "lib.py", "__pycache__"}
