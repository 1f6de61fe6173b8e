"""`patchkit export`: a diff that git takes, and a bill of materials that its schema takes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from analysis.check.released import no_own_packs, write_wheels
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from support.packages import World, row, world
from support.programs import program

from patchkit.analysis.upstream.fingerprint import of_nodes
from patchkit.authoring.adopt.definitions import Definitions
from patchkit.cli import main

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["world"]

LIB = """\
'''A module.'''

import os.path
from dataclasses import dataclass


@dataclass
class Config:
    '''Settings.'''

    size: int = 1

    @staticmethod
    def parse(text):
        return text


def f(a):
    '''Words.'''
    return a


LIMIT = 1
"""
BODY = program(__file__, "exported_body")


@pytest.fixture
def here(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of `up` on an index, and a folder with its files under git."""
    no_own_packs(monkeypatch)
    monkeypatch.chdir(world.folder)
    for name, value in {
        "CONFIG_FILE": "/dev/null",
        "NO_INDEX": "1",
        "FIND_LINKS": ".",
    }.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    write_wheels(
        world.folder, {"1.0": {"lib": LIB, "other": "def deep(n):\n    return n"}}
    )
    return world.folder


def export(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Run `export` of `pack` on `up` 1.0, and return its code, its output and its errors."""
    capsys.readouterr()
    sys.path_importer_cache.clear()
    code = main(["export", "--patches", "pack", "--releases", "up==1.0", *words])
    return code, *capsys.readouterr()


def applied(folder: Path, diff: str) -> Definitions:
    """Let git apply a diff to the release, and return what `up.lib` then defines."""
    wheel = next(folder.glob("up-1.0*.whl"))
    tree = folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    shutil.unpack_archive(wheel, tree, "zip")
    git = ["git", "-C", str(tree), "apply"]
    for more in (["--check"], []):
        subprocess.run([*git, *more, "-"], input=diff.encode(), check=True, timeout=30)
    return Definitions.of("up/lib.py", (tree / "up/lib.py").read_bytes())


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
            "uses MIDDLE, which no plain assignment alone",
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


@pytest.mark.parametrize(
    ("change", "body", "reason"),
    [
        (
            "Replace('up.lib:LIMIT', by='same')",
            "same = 1",
            "the release has it already",
        ),
        (
            "Replace('up.lib:f', by='calls')",
            "from up.lib import f\ndef calls(a):\n    return f(a)",
            "it uses f as upstream has it, and the patch replaces that",
        ),
        (
            "Replace('up.lib:f', by='far')",
            "from .helpers import helper\ndef far(a):\n    return helper(a)",
            "it uses helper of pack.helpers, which upstream does not have",
        ),
        (
            "Replace('up.lib:f', by='early')",
            "from up.lib import LIMIT\ndef early(a=LIMIT):\n    return a",
            "it reads LIMIT, which up/lib.py does not bind by then",
        ),
        (
            "Replace('up.lib:f', by='own')",
            "def own(a):\n    return missing(a)",
            "it reads missing, which up/lib.py does not bind by then",
        ),
        (
            "Replace('up.lib:f', by='shadow')",
            "import json as os\ndef shadow(a):\n    return os.dumps(a)",
            "it uses another os than the module has",
        ),
        (
            "Replace('up.lib:f', by='builtin')",
            "def len(a):\n    return 1\ndef builtin(a):\n    return len(a)",
            "it uses a len of its own, which is a builtin elsewhere",
        ),
        (
            "Replace('up.lib:dataclass', by='other')",
            "def other(cls):\n    return cls",
            "up.lib only imports it (from dataclasses import dataclass)",
        ),
        (
            "Provide('up.other')",
            "__all__ = []",
            "the release has a file up/other.py already",
        ),
        (
            "Provide('up.new')",
            "from pack import helpers\n__all__ = ['helpers']",
            "it uses helpers of pack, which upstream does not have",
        ),
    ],
)
def test_code_that_would_do_something_else_is_listed(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    body: str,
    reason: str,
) -> None:
    """What cannot be imported, or would mean another thing there, is left out with the reason."""
    world.pack(row("one", "patch_lib", change), patch_lib=body)
    code, diff, errors = export(capsys)
    assert reason in errors
    assert (code, diff) == (1, "")


def test_a_decorator_that_a_replacement_lacks_goes(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What says which kind of method it is stays, and so does what patchkit asks again."""
    upstream = """
    import functools

    def named(function):
        return function

    @named
    def f(a):
        return a

    class C:
        @staticmethod
        @named
        def s(a):
            return a

        @functools.lru_cache(maxsize=2)
        def cached(self):
            return 1
    """
    write_wheels(here, {"1.0": {"lib": dedent(upstream)}})
    body = "def f(a):\n    return a\ndef cached(self):\n    return 2\n"
    changes = (
        "Replace('up.lib:f', by='f')",
        "Replace('up.lib:C.s', by='f')",
        "Replace('up.lib:C.cached', by='cached')",
    )
    world.pack(row("one", "patch_lib", *changes), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    changed = [line for line in diff.splitlines() if line[:1] in "+-"][2:]
    assert changed == [
        "-@named",
        "-    @named",
        "-        return 1",
        "+        return 2",
    ]


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


@pytest.mark.parametrize("is_lazy", [False, True])
def test_what_type_checkers_alone_import_stays_so(
    is_lazy: bool, here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Annotations that a module evaluates have such names between quotes."""
    head = "from __future__ import annotations\n\n" if is_lazy else ""
    write_wheels(
        here, {"1.0": {"lib": f"{head}class C:\n    def m(self):\n        return 1\n"}}
    )
    body = """
    from __future__ import annotations

    from typing import TYPE_CHECKING

    from up import lib

    if TYPE_CHECKING:
        from collections.abc import Sequence


    class D(lib.C):
        def m(self, other: D | None = None) -> Sequence[int]:
            return [1]
    """
    world.pack(
        row("one", "patch_lib", "Replace('up.lib:C', by='D')"), patch_lib=dedent(body)
    )
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+if TYPE_CHECKING:\n+    from collections.abc import Sequence\n" in diff
    header = "def m(self, other: C | None = None) -> Sequence[int]:"
    if not is_lazy:
        header = 'def m(self, other: "C | None" = None) -> "Sequence[int]":'
    assert header in diff


@pytest.mark.processes
def test_what_is_defined_under_a_condition_is_changed_there(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A class in a `try`, which is None without a package, keeps its place and its margin."""
    text = """
    try:
        import json

        class C:
            def m(self):
                return 1

    except ImportError:
        C = None

    if json:
        def f():
            return 1
    else:
        def f():
            return 2
    """
    write_wheels(here, {"1.0": {"lib": dedent(text)}})
    body = """
    from up.lib import C

    def helper():
        return 2

    def f():
        return 3

    class D(C):
        def m(self):
            return helper()
    """
    changes = ("Replace('up.lib:C', by='D')", "Replace('up.lib:f', by='f')")
    world.pack(row("one", "patch_lib", *changes), patch_lib=dedent(body))
    code, diff, errors = export(capsys)
    assert code == 1
    assert "up.lib:f is not in the diff" in errors
    assert errors.count("\n") == 1
    applied(here, diff)
    program = "import up.lib as m; print(m.C().m(), m.f())"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=here / "tree", check=True, capture_output=True, timeout=30
    )
    assert done.stdout.split() == [b"2", b"1"]


@pytest.mark.processes
def test_what_is_added_stands_before_what_needs_it(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that a class calls as it is made is added above the class."""
    text = "class C:\n    size = 1\n\n\nif __name__ == '__main__':\n    print(C)\n"
    write_wheels(here, {"1.0": {"lib": text}})
    changes = (
        "Add('up.lib:make', by='make')",
        "Add('up.lib:late', by='late')",
        "Replace('up.lib:C.size', by='size')",
    )
    body = (
        "def make():\n    return 2\n\n\ndef late():\n    return 3\n\n\nsize = make()\n"
    )
    world.pack(row("one", "patch_lib", *changes), patch_lib=body)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    order = [name for name in patched.named if "." not in name]
    assert order == ["make", "C", "late"]
    assert patched.text(patched.named["C.size"]) == "    size = make()"


def test_an_import_that_comes_from_elsewhere_takes_the_place_of_the_old_one(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that a body only imports is imported by the module from there."""
    text = "from json import dumps, loads\n\n\ndef f(a):\n    return dumps(loads(a))\n"
    write_wheels(here, {"1.0": {"lib": text, "other": "def loads(n):\n    return n"}})
    change = "Replace('up.lib:loads', by='loads')"
    world.pack(row("one", "patch_lib", change), patch_lib="from up.other import loads")
    code, diff, errors = export(capsys)
    assert "+from json import dumps\n" in diff
    assert "+from up.other import loads\n" in diff
    assert (code, errors) == (0, "")


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


def test_an_added_name_of_another_module_is_no_obstacle(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is added under such a name is in the diff under that name."""
    change = "Add('up.lib:os', by='helper')"
    world.pack(row("one", "patch_lib", change), patch_lib=BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    assert "+def os(a):" in diff


PAIRS = """\
'''Names that are set together.'''

HERE, THERE = 1, 2  # places
LONG, SHORT = (
    # as they came
    "long",
    "short",
)
QUOTIENT, REMAINDER = divmod(7, 2)
FIRST = LAST = 0
TWICE = 1
TWICE, ONCE = 2, 1


class Config:
    width, height = 3, 4
"""
PAIRS_BODY = """\
from up.lib import THERE

LOW, HIGH = 7, THERE + 1
CHOSEN, OTHER = 7 if LOW else 8, (yes := 9)
SWAPPED, BACK = BACK, 1


def helper():
    return LOW


def used():
    return helper() + HIGH + THERE
"""


@pytest.mark.parametrize(
    ("change", "removed", "added"),
    [
        (
            "Replace('up.lib:HERE', by='LOW')",
            "HERE, THERE = 1, 2",
            "HERE, THERE = 7, 2  # places",
        ),
        ("Replace('up.lib:SHORT', by='LOW')", '    "short",', "    7,"),
        ("Replace('up.lib:Config.height', by='LOW')", "", "    width, height = 3, 7"),
        ("Replace('up.lib:QUOTIENT', by='LOW')", None, "QUOTIENT = 7"),
        ("Replace('up.lib:LAST', by='LOW')", None, "LAST = 7"),
        ("Replace('up.lib:HERE', by='HIGH')", None, "HERE = THERE + 1"),
        ("Replace('up.lib:HERE', by='CHOSEN')", "", "HERE, THERE = 7 if LOW else 8, 2"),
        ("Replace('up.lib:HERE', by='OTHER')", "", "HERE, THERE = (yes := 9), 2"),
        ("Replace('up.lib:REMAINDER', by='used')", None, "def REMAINDER():"),
    ],
)
def test_one_of_several_names_that_are_set_together(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    removed: str | None,
    added: str,
) -> None:
    """It gets its new value in its place or on the next line; the others keep theirs."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    world.pack(row("one", "patch_lib", change), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    lines = diff.splitlines()
    assert any(line.startswith(f"+{added}") for line in lines)
    removed_lines = [
        line for line in lines if line.startswith("-") and not line.startswith("---")
    ]
    if removed is None:
        assert removed_lines == []
    else:
        (removed_line,) = removed_lines
        assert removed_line.startswith(f"-{removed}")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            "Replace('up.lib:TWICE', by='LOW')",
            "more than one statement of up/lib.py sets TWICE",
        ),
        ("Replace('up.lib:HERE', by='SWAPPED')", "alone defines SWAPPED"),
    ],
)
def test_names_that_cannot_be_set_apart_are_listed(
    here: Path,
    world: World,
    capsys: pytest.CaptureFixture[str],
    change: str,
    reason: str,
) -> None:
    """Nothing is written of a name that is set twice, or of values that depend on one another."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    world.pack(row("one", "patch_lib", change), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, diff) == (1, "")
    assert reason in errors


@pytest.mark.processes
def test_a_diff_brings_only_the_names_that_its_code_uses(
    here: Path, world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of names that are set together it brings those, once each, and none that the module has."""
    write_wheels(here, {"1.0": {"lib": PAIRS}})
    changes = ("Add('up.lib:used', by='used')", "Replace('up.lib:HERE', by='LOW')")
    world.pack(row("one", "patch_lib", *changes), patch_lib=PAIRS_BODY)
    code, diff, errors = export(capsys)
    assert (code, errors) == (0, "")
    patched = applied(here, diff)
    assert patched.text(patched.named["helper"]) == "def helper():\n    return HERE"
    assert patched.text(patched.named["HIGH"]) == "HIGH = THERE + 1"
    assert {"helper", "used"} <= patched.named.keys()
    assert {"LOW", "CHOSEN", "OTHER", "yes"}.isdisjoint(patched.named)
    assert not patched.imports
    program = "import up.lib as m; print(m.used(), m.HERE, m.THERE)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=here / "tree", check=True, capture_output=True, timeout=30
    )
    assert done.stdout.split() == [b"12", b"7", b"2"]


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
