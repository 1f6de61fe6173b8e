"""`patchkit export`: a diff that git takes, and a bill of materials that its schema takes."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import write_wheels
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from support.packages import World, row, world

from authoring.export.exporting import BODY, LIB, REPLACE_F, applied, export, here
from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.authoring.source.definitions import Definitions
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["here", "world"]


@pytest.mark.processes
def test_a_diff_has_each_kind_of_change_that_it_can_express(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Definitions bring what they use; imports stay in the functions, except what a header uses."""
    world.pack(
        row(
            "all",
            "patch_lib",
            "Edit('up.lib:f', old='return a', new='return a + 1')",
            "Add('up.lib:g', by='g')",
            "Replace('up.lib:Config.parse', by='parse')",
            "Add('up.lib:Config.grow', by='Config.grow')",
            "AddField('up.lib:Config', name='many', type='list[int]', default=[1])",
            "Replace('up.lib:LIMIT', by='BIG')",
        ),
        row("new", "patch_new", "Provide('up.new')"),
        patch_lib=BODY,
        patch_new="def made():\n    return 1\n\n\n__all__ = ['made']",
    )
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    assert {
        "f",
        "g",
        "helper",
        "Config.grow",
        "Config.many",
    } <= patched.named.keys()
    assert patched.text(patched.named["f"]).endswith("return a + 1")
    assert patched.text(patched.named["Config.parse"]) == (
        "    @staticmethod\n    def parse(text):\n        return dumps(text)"
    )
    assert patched.text(patched.named["LIMIT"]) == "LIMIT = 7"
    assert "    from up.other import deep" in patched.text(patched.named["g"])
    assert patched.imports["dumps"] == "from json import dumps"  # g's default needs it
    assert "__all__ = ['made']" in (here / "tree/up/new.py").read_text()
    code_of_it = (
        "import up.lib as m; "
        "print(m.g(2), m.f(1), m.Config(many=[3]).grow(), m.Config().many)"
    )
    run = [sys.executable, "-c", code_of_it]
    out = subprocess.run(
        run, cwd=here / "tree", check=True, capture_output=True, timeout=30
    ).stdout
    assert out.decode().split("\n")[0] == "18 2 1 [1]"


@pytest.mark.parametrize(
    ("change", "fields", "reason"),
    [
        ("Wrap('up.lib:f', by='around')", {}, "Wrap has no text of its own"),
        (
            "AfterImport('up.lib', call='serve')",
            {},
            "AfterImport has no text of its own",
        ),
        ("Replace('up.lib:f', by='parse', when='helper')", {}, "under a condition"),
        ("Replace('up.lib:f', by='parse')", {"env": "'X'"}, "under a condition"),
        ("Replace('up.lib:f', by='dumps')", {}, "alone defines dumps"),
        (
            "Replace('up.lib:f', by='above')",
            {},
            "uses MIDDLE, which no statement of the body alone sets",
        ),
        ("Edit('up.lib:f', old='return b', new='return a')", {}, "it occurs 0 times"),
        ("Replace('up.lib:gone', by='parse')", {}, "gone"),
        ("Provide('up.new', by='serve')", {}, "makes the module"),
    ],
)
def test_what_a_diff_cannot_express_is_listed(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    fields: dict[str, str],
    reason: str,
) -> None:
    """Nothing of it is written, and the reason is told."""
    world.pack(row("one", "patch_lib", change, **fields), patch_lib=BODY)
    code, diff, errors = export(capsys)
    assert reason in errors
    assert (code, diff) == (1, "")


def test_edits_of_a_function_are_made_together(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """One may use what the next one brings; a line that goes leaves no blanks."""
    text = "def f(a):\n    b = a\n    return b\n\n\ndef g(a):\n    return [\n        1,\n    ]\n"
    write_wheels(here, {"1.0": {"lib": text}})
    edits = (
        "Edit('up.lib:f', old='return b', new='return c')",
        "Edit('up.lib:f', old='b = a', new='c = a')",
        "Edit('up.lib:g', old='1,', new='')",
    )
    world.pack(row("one", "patch_lib", *edits), patch_lib="")
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert [line for line in diff.splitlines() if line[:1] in "+-"][2:] == [
        "-    b = a",
        "-    return b",
        "+    c = a",
        "+    return c",
        "-        1,",
    ]


def test_an_edit_is_left_out_with_the_others_of_its_function(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is edited in part is in no diff."""
    edits = (
        "Edit('up.lib:f', old='return a', new='return a + 1')",
        "Edit('up.lib:f', old='c = a', new='b = a')",
    )
    world.pack(row("one", "patch_lib", *edits), patch_lib="")
    code, diff, errors = export(capsys)
    assert (code, diff) == (1, "")
    assert "up.lib:f is not in the diff: it occurs 0 times" in errors
    assert "another Edit of the same function is left out" in errors


def test_a_row_of_another_range_is_told(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row that is named, and an export without any row of the release, are no empty success."""
    world.pack(
        row("one", "patch_lib", "Add('up.lib:g', by='helper')", requires="('up>=2',)"),
        row("two", "patch_lib", "Add('up.lib:h', by='helper')"),
        patch_lib=BODY,
    )
    code, diff, errors = export(capsys, "one")
    assert (code, diff) == (1, "")
    assert (
        "one: nothing of it is in the diff: none of its changes is for up 1.0" in errors
    )
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+def h(a):" in diff


def test_what_the_import_reads_is_told(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A diff also changes what a module makes of a target as it is imported, and says so."""
    text = (
        "LIMIT = 1\nTWICE = LIMIT * 2\n\n\ndef f(a):\n    return a\n\n\nNUMBER = f(1)\n"
    )
    write_wheels(here, {"1.0": {"lib": text}})
    body = "LIMIT = 2\n"
    edit = "Edit('up.lib:f', old='return a', new='return a + 1')"
    world.pack(
        row("one", "patch_lib", "Replace('up.lib:LIMIT', by='LIMIT')", edit),
        patch_lib=body,
    )
    code, diff, errors = export(capsys)
    assert code == 1
    assert "+LIMIT = 2" in diff
    assert (
        "up.lib:LIMIT is in the diff, which also changes what the import of" in errors
    )
    assert "too late for that: line 2 reads it" in errors
    assert "too late for that: the import calls f" in errors


@pytest.mark.processes
def test_a_point_release_comes_back(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows adopted from a later release, written as a diff, make that release's functions."""
    new = LIB.replace("return a\n", "b = a\n    return b\n")
    new = new.replace("LIMIT = 1", "LIMIT = 2")
    new = f"from json import dumps\n{new}\n\ndef g(x):\n    return dumps(x)\n"
    new = f"{new}\n\ndef k():\n    return g(LIMIT)\n"
    write_wheels(here, {"1.1": {"lib": new, "other": "def deep(n):\n    return n"}})
    words = ["up==1.1", "--into", "pack", "--of", "up", "--releases", "up==1.0"]
    assert main(["adopt", *words]) == 0
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    wanted = Definitions.of("up/lib.py", new.encode())
    for name in ("f", "LIMIT"):
        assert of_nodes([patched.named[name]]) == of_nodes([wanted.named[name]])
    assert "return dumps(x)" in patched.text(patched.named["g"])
    assert diff.count("+def g(x)") == 1  # k uses it, and does not bring another


def test_a_bill_of_materials_has_each_patch(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """CycloneDX's schema accepts the bill; a patch that no diff can express has none in it."""
    world.pack(
        row(
            "edit",
            None,
            "Edit('up.lib:f', old='return a', new='return a + 1')",
            why="'It is one less.'",
            upstream="'https://example.org/issues/1'",
        ),
        row(
            "wrap",
            "patch_lib",
            "Wrap('up.lib:f', by='around')",
            upstream="'none: local'",
        ),
        patch_lib=BODY,
    )
    code, out, _ = export(capsys, "--format", "sbom")
    assert code == 0
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(out) is None
    (component,) = json.loads(out)["components"]
    first, second = component["pedigree"]["patches"]
    assert component["purl"] == "pkg:pypi/up@1.0"
    assert "+    return a + 1" in first["diff"]["text"]["content"]
    assert first["resolves"][0]["references"] == ["https://example.org/issues/1"]
    assert "diff" not in second
    assert "references" not in second["resolves"][0]


def test_several_releases_are_refused(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A diff is of one release: with a second one, nothing is exported but an error."""
    write_wheels(here, {"2.0": {"lib": LIB}})
    world.pack(
        row("one", "patch_lib", "Replace('up.lib:f', by='parse')"), patch_lib=BODY
    )
    code, _, errors = export(capsys, "--releases", "up==2.0")
    assert code == 2
    assert "found up 1.0, up 2.0, expected one release" in errors


def test_a_module_that_is_not_in_utf_8_is_left_out(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A diff is text in UTF-8; the module is named."""
    text = "# -*- coding: latin-1 -*-\nNAME = 'é'\n\n\ndef f(a):\n    return a\n"
    wheel = here / "up-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("up/__init__.py", "")
        archive.writestr("up/lib.py", text.encode("latin-1"))
        archive.writestr("up-1.0.dist-info/METADATA", "Name: up\n")
    body = "def f(a):\n    return a + 1\n"
    world.pack(row("one", "patch_lib", REPLACE_F), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, diff) == (1, "")
    assert "up/lib.py is not in UTF-8" in errors
