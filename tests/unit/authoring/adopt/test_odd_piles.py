"""`patchkit adopt` of piles that are written in odd ways: right rows, or a place in the list."""

from __future__ import annotations

import json
import sys
from textwrap import dedent

import pytest

from authoring.adopt.pile_of_up import (
    PROBE,
    TOOLS,
    World,
    adopt,
    both,
    forms,
    here,
    kinds,
    program,
    world,
)
from patchkit.cli import main

__all__ = ["here", "world"]

HEAD = "from up import lib, user\nfrom up.lib import C\n\n"
WRAP = "old = lib.f\n\n\ndef f(a, b=0):\n    return {0}\n\n\nlib.f = f\n"
ENCODED = {
    "a mark of the byte order": "\ufeff",
    "another encoding": "# -*- coding: latin-1 -*-\n",
}
"""First lines of files that are not in plain UTF-8."""
BUILD = TOOLS.replace("condition=None):", "condition=None, build=False):").replace(
    "last, value)", "last, value() if build else value)"
)


@pytest.mark.processes
@pytest.mark.parametrize("form", [*forms("odd_rows"), *ENCODED])
def test_rows_do_what_an_odd_pile_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """And what no row says is done as the body is loaded, and listed."""
    here.module("pile.tools", BUILD)
    file = here.module("pile.patches")
    if form in ENCODED:
        text = f"{ENCODED[form]}{HEAD}lib.extra = 'é'\nC.new = 'é', 'ü', [1, 2]\n"
    else:
        text = program("odd_rows", form)
    file.write_bytes(text.encode("latin-1" if "latin-1" in text else "utf-8"))
    theirs = here.answer(f"import pile.patches\n{PROBE}", PATCHKIT="0")
    told = adopt(here, capsys, {})
    assert told["sites"] == told["expressed"] + len(told["left"])
    assert both(here) == (theirs, theirs)


@pytest.mark.parametrize("form", forms("no_wraps"))
def test_what_is_no_wrapper(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """Names that stand for something else in it, or in a part of it, are the pile's own matter."""
    told = adopt(here, capsys, {"patches": program("no_wraps", form)})
    assert kinds(told) == {"patches": [("Replace", "up.lib:C.m")]}


@pytest.mark.parametrize("form", forms("odd_left"))
def test_what_is_set_in_other_ways_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """It stays in the body."""
    text = program("odd_left", form)
    told = adopt(here, capsys, {"patches": text})
    assert kinds(told) == {"patches": [("Add", "up.lib:C.new")]}
    assert told["left"]
    assert {one["line"] >= 4 for one in told["left"]} == {True}
    statement = text.removeprefix(HEAD).removesuffix("C.new = 1\n")
    assert statement.strip() in (here.folder / "mine" / "patch_patches.py").read_text()


def test_names_of_rows(here: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the modules are called, a pack can be read."""
    names = ("patch_old_pile", "_", "patch_ü", "a", "a_b")
    call = "register_patch(target='up.lib.{0}', reason='r')(1)\n"
    mark = f"from pile.tools import register_patch\n{call}"
    text = "from up.lib import C\nC.new{0} = 1\n"
    modules = {name: text.format(at) for at, name in enumerate(names[:3])}
    modules["a"] = mark.format("b.c") + mark.format("C.b")
    modules["a_b"] = mark.format("C") + mark.format("C.b")
    adopt(here, capsys, {"tools": TOOLS, **modules})
    sys.path_importer_cache.clear()
    assert main(["list", "--patches", "mine"]) == 0


def test_a_check_of_the_pile_is_in_the_row(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`verify` is written like any other field."""
    text = """\
    from pile.tools import register_patch

    @register_patch(target="up.lib.g", reason="why", verify=lambda: print)
    def g():
        return "g"
    """
    adopt(here, capsys, {"patches": dedent(text)})
    sys.path_importer_cache.clear()
    assert __import__("mine").PATCHES[1].verify == "verify_0"


def test_conditions_of_several_importers(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plain import counts more than one under a condition; relative names are told whole."""
    here.module(
        "pile.__init__",
        """\
        try:
            from .config import WANTED
        except ImportError:
            WANTED = False
        if WANTED:
            from . import patch_a, patch_b
        from . import patch_c
        """,
    )
    text = "from up.lib import C\nC.new_{0} = 1\n"
    modules = {f"patch_{one}": text.format(one) for one in "abc"}
    modules["patch_c"] += "from . import patch_b\n"
    adopt(here, capsys, {"config": "WANTED = True\n", **modules})
    sys.path_importer_cache.clear()
    rows = {one.name: one for one in __import__("mine").PATCHES}
    assert [rows[one].when for one in "abc"] == ["when", None, None]
    assert (
        "from pile.config import WANTED"
        in (here.folder / "mine" / "patch_a.py").read_text()
    )


@pytest.mark.processes
@pytest.mark.parametrize(
    "init",
    [
        "from up import lib\nvars(lib).update(own=1)\nlib.C.size += 1\n",
        "def register():\n    from up import lib\n\n    lib.own = []\n\n\n",
    ],
)
def test_a_package_that_is_left_is_no_part_of_it(
    here: World, capsys: pytest.CaptureFixture[str], init: str
) -> None:
    """The pile is kept off all the same, so that nothing is wrapped twice."""
    modules = {"patches": HEAD + WRAP.format("'new', old(a)")}
    told = adopt(
        here, capsys, {"__init__": f"{init}from pile import patches\n", **modules}
    )
    assert [one["name"] for one in told["patches"]] == ["old-pile", "patches"]
    assert {one["file"] for one in told["left"]} == {"pile/__init__.py"}
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
def test_stand_ins_have_all_names(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also for whoever asks for all at once, or for a module below that nobody has imported.

    A module of the package itself is an attribute of it, as after any import.
    """
    here.module("pile.inner.patches.helper", "VALUE = 5\n")
    text = "from up.lib import C\nNAME = 'mine'\nC.new = 1\n"
    here.module("pile.inner.patches.__init__", text)
    adopt(here, capsys, {"patches": text.replace("new", "more")})
    held = (
        "import json\nfrom patchkit import applied\napplied(packs='mine').__enter__()\n"
    )
    probe = "import pile\nfrom pile.inner.patches.helper import VALUE\nfrom pile.patches import *\n"
    probe += "import pile.patches\n"
    answer = "print(json.dumps([NAME, VALUE, pile.patches.NAME]))"
    assert here.answer(f"{held}{probe}{answer}") == ["mine", 5, "mine"]


@pytest.mark.processes
@pytest.mark.parametrize(
    "use",
    [
        "from pile.first import old\nlib.extra = repr(old(1))\n",
        "from pile.first import f\nlib.extra = repr(f(1))\n",
        "from pile import first\nlib.extra = repr(first.f(1))\n",
        "import pile.first\nlib.extra = repr(pile.first.old(1))\n",
        "from pile.first import *\nlib.extra = repr(f(1))\n",
        "def h():\n    from pile.first import old\n    return repr(old(1))\n\n\nlib.extra = h()\n",
    ],
)
def test_what_other_modules_use_stays_as_it_is(
    here: World, capsys: pytest.CaptureFixture[str], use: str
) -> None:
    """A wrapper takes other arguments, and a Wrap saves no original."""
    text = "from up import lib\n\n" + WRAP.format("'new', old(a)")
    user = f"from up import lib\n{use}"
    init = {"__init__": "from pile import first, patches\n"}
    told = adopt(here, capsys, {"first": text, "patches": user, **init})
    assert kinds(told)["first"] == [("Replace", "up.lib:f")]
    theirs, ours = both(here)
    assert ours == theirs


def test_names_of_files_stay_names(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a folder or a file is called ends up in comments and texts only."""
    folder = here.folder / "loose\nimport nowhere #"
    folder.mkdir()
    for name in ("one", 'a"\nimport nowhere #'):
        (folder / f"{name}.py").write_text("from up.lib import C\nC.new = 1\n")
    words = [
        "--into",
        "mine",
        "--of",
        "up",
        "--releases",
        "up==1.0",
        "--format",
        "json",
    ]
    assert main(["adopt", str(folder), *words]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in told["patches"]] == ["one"]
    lines = (here.folder / "mine" / "patch_one.py").read_text().splitlines()
    assert [one for one in lines if one.startswith("import")] == []


def test_without_rows_there_is_nothing_to_observe(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only modules that rows change are looked at."""
    told = adopt(here, capsys, {"patches": f"{HEAD}C.size += 1\n"}, "--observe")
    assert (told["observed"], len(told["left"])) == (None, 1)


@pytest.mark.processes
def test_observing_leaves_no_files(
    here: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No compiled modules beside the pile's, either; a safe path of Python's does no harm."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    told = adopt(
        here, capsys, {"patches": f"{HEAD}C.m = lambda: 1\n"}, "--dry-run", "--observe"
    )
    assert (told["observed"]["faults"], told["observed"]["inactive"]) == ({}, [])
    assert list((here.folder / "pile").rglob("*.pyc")) == []
