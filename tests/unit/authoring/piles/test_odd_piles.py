"""`patchkit adopt` of piles that are written in odd ways: right rows, or a place in the list."""

from __future__ import annotations

import json
import sys
from textwrap import dedent

import pytest
from analysis.check.released import write_wheels

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import (
    PROBE,
    TOOLS,
    UP,
    World,
    adopt,
    answers,
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
BUILDING_TOOLS = TOOLS.replace(
    "condition=None):", "condition=None, build=False):"
).replace("last, value)", "last, value() if build else value)")
"""The tools of a pile whose `register_patch` calls what it decorates, on request."""


@pytest.mark.processes
@pytest.mark.parametrize("form", [*forms("odd_rows"), *ENCODED])
def test_rows_do_what_an_odd_pile_does(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """What no row expresses is listed, and is done as the body is loaded."""
    here.module("pile.tools", BUILDING_TOOLS)
    file = here.module("pile.patches")
    if form in ENCODED:
        text = f"{ENCODED[form]}{HEAD}lib.extra = 'é'\nC.new = 'é', 'ü', [1, 2]\n"
    else:
        text = program("odd_rows", form)
    file.write_bytes(text.encode("latin-1" if "latin-1" in text else "utf-8"))
    theirs = here.answer(f"import pile.patches\n{PROBE}", PATCHKIT="0")
    report = adopt(here, capsys, {})
    assert report["sites"] == report["expressed"] + len(report["left"])
    assert answers(here) == (theirs, theirs)


@pytest.mark.parametrize("form", forms("no_wraps"))
def test_a_function_that_is_no_wrapper_is_a_replace(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """In it, `self`, `kwargs` or the original's name stand for something else than in a wrapper."""
    report = adopt(here, capsys, {"patches": program("no_wraps", form)})
    assert kinds(report) == {"patches": [("Replace", "up.lib:C.m")]}


@pytest.mark.parametrize("form", forms("odd_left"))
def test_what_is_set_in_other_ways_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The statement stays in the body."""
    text = program("odd_left", form)
    report = adopt(here, capsys, {"patches": text})
    assert kinds(report) == {"patches": [("Add", "up.lib:C.new")]}
    assert report["left"]
    assert all(place["line"] >= 4 for place in report["left"])
    statement = text.removeprefix(HEAD).removesuffix("C.new = 1\n")
    assert statement.strip() in (here.folder / "mine" / "patch_patches.py").read_text()


def test_modules_of_any_name_make_a_pack_that_can_be_read(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`list` reads the pack, whatever the modules and the targets are called."""
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
    """The `verify` of a registration becomes a function of the body, which the row names."""
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
    """An import without a condition wins over one with; the body has relative names in full."""
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
    modules = {f"patch_{letter}": text.format(letter) for letter in "abc"}
    modules["patch_c"] += "from . import patch_b\n"
    adopt(here, capsys, {"config": "WANTED = True\n", **modules})
    sys.path_importer_cache.clear()
    rows = {row.name: row for row in __import__("mine").PATCHES}
    assert [rows[name].when for name in "abc"] == ["when", None, None]
    body = (here.folder / "mine" / "patch_a.py").read_text()
    assert "from pile.config import WANTED" in body


@pytest.mark.processes
@pytest.mark.parametrize(
    "init",
    [
        "from up import lib\nvars(lib).update(own=1)\nlib.C.size += 1\n",
        "def register():\n    from up import lib\n\n    lib.own = []\n\n\n",
    ],
)
def test_a_package_whose_own_statements_are_left_is_kept_off(
    here: World, capsys: pytest.CaptureFixture[str], init: str
) -> None:
    """The pile is off although no row expresses those statements, so that nothing is wrapped twice."""
    modules = {"patches": HEAD + WRAP.format("'new', old(a)")}
    report = adopt(
        here, capsys, {"__init__": f"{init}from pile import patches\n", **modules}
    )
    assert [patch["name"] for patch in report["patches"]] == ["old-pile", "patches"]
    assert {place["file"] for place in report["left"]} == {"pile/__init__.py"}
    theirs, ours = answers(here)
    assert ours == theirs


@pytest.mark.processes
def test_stand_ins_of_the_pile_have_all_names(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`import *` binds them all, and a module below one is there before anybody has imported it.

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
def test_a_function_that_other_modules_use_is_no_wrap(
    here: World, capsys: pytest.CaptureFixture[str], use: str
) -> None:
    """It is a Replace: a Wrap's function takes other arguments, and a Wrap saves no original."""
    text = "from up import lib\n\n" + WRAP.format("'new', old(a)")
    user = f"from up import lib\n{use}"
    init = {"__init__": "from pile import first, patches\n"}
    report = adopt(here, capsys, {"first": text, "patches": user, **init})
    assert kinds(report)["first"] == [("Replace", "up.lib:f")]
    theirs, ours = answers(here)
    assert ours == theirs


def test_names_of_files_stay_names(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of a folder or file is written in comments and texts only, never as code."""
    folder = here.folder / "loose\nimport nowhere #"
    folder.mkdir()
    for name in ("one", 'a"\nimport nowhere #'):
        (folder / f"{name}.py").write_text("from up.lib import C\nC.new = 1\n")
    words = [*INTO_MINE, "--format", "json"]
    assert main(["adopt", str(folder), *words]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [patch["name"] for patch in report["patches"]] == ["one"]
    lines = (here.folder / "mine" / "patch_one.py").read_text().splitlines()
    assert [line for line in lines if line.startswith("import")] == []


@pytest.mark.processes
def test_a_pile_without_rows_is_observed_too(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it changes in a way that no row says becomes the call of its text."""
    report = adopt(here, capsys, {"patches": f"{HEAD}C.size += 1\n"}, "--observe")
    assert report["observed"]["depths"] == {"up.lib:C.size": "taken"}
    assert report["observed"]["not_run"] == []
    assert report["left"] == []
    theirs, ours = answers(here)
    assert ours == theirs


@pytest.mark.processes
def test_observing_leaves_no_files(
    here: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes no compiled modules beside the pile's, and works with `PYTHONSAFEPATH`, too."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    report = adopt(
        here, capsys, {"patches": f"{HEAD}C.m = lambda: 1\n"}, "--dry-run", "--observe"
    )
    assert report["observed"]["faults"] == {}
    assert report["observed"]["inactive"] == []
    assert list((here.folder / "pile").rglob("*.pyc")) == []


def test_names_that_are_imported_and_set_together_are_no_patch(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`f = g = None` binds the module's own names, whatever they stood for."""
    text = """\
    from up.lib import C

    try:
        from up.lib import f, g
    except ImportError:
        f = g = None
    C.new = 1
    """
    report = adopt(here, capsys, {"patches": dedent(text)})
    assert kinds(report) == {"patches": [("Add", "up.lib:C.new")]}
    assert report["left"] == []


def test_what_is_kept_elsewhere_than_in_its_class_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """No row sets a member of an enum, or slots."""
    text = "import enum\n\n\nclass E(enum.Enum):\n    A = 1\n\n\nclass S:\n    x = 1\n"
    here.module("up.kinds", text)
    write_wheels(here.folder, {"1.0": {**UP, "kinds": text}})
    pile = (
        "from up.kinds import E, S\nE.A = 5\nS.__slots__ = ('a',)\nS.x = 2\nS.y = 3\n"
    )
    report = adopt(here, capsys, {"patches": pile})
    assert kinds(report) == {
        "patches": [("Replace", "up.kinds:S.x"), ("Add", "up.kinds:S.y")]
    }
    reasons = [code["reason"] for code in report["left"]]
    assert "up.kinds:E.A is a member of an enum" in reasons[0]
    assert "which Python reads only once" in reasons[1]


def test_what_another_package_lacks_is_added(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is installed here says whether it is there."""
    here.module("beside_up.__init__", "__version__ = '1.0'\n")
    here.module("beside_up.lib", "def f(): ...\n")
    text = "from beside_up import lib\nlib.f = print\nlib.more = print\n"
    report = adopt(here, capsys, {"patches": text})
    assert kinds(report) == {
        "patches": [("Replace", "beside_up.lib:f"), ("Add", "beside_up.lib:more")]
    }


@pytest.mark.parametrize("statement", ["from . import tools", "import bare.tools"])
def test_a_package_without_an_init_file_is_one_if_it_imports_itself(
    here: World, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    """Its modules are then kept off, as those of any package are."""
    folder = here.folder / "bare"
    folder.mkdir()
    (folder / "tools.py").write_text("x = 1\n")
    text = f"{statement}\nfrom up.lib import C\nC.new = 1\n"
    (folder / "patches.py").write_text(text)
    words = ["adopt", "bare", *INTO_MINE, "--format", "json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert [patch["name"] for patch in report["patches"]] == ["old-pile", "patches"]


def test_what_runs_only_as_a_program_or_a_test_is_no_patch(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A block for the main program runs nowhere; what tests set is listed."""
    main_block = 'if __name__ == "__main__":\n    C.main = 1\n'
    modules = {
        "patches": f"from up.lib import C\nC.new = 1\n{main_block}",
        "tests.test_it": "from up.lib import C\nC.tested = 1\n",
        "test_beside": "from up.lib import C\nC.tested = 1\n",
    }
    report = adopt(here, capsys, modules)
    assert kinds(report) == {"patches": [("Add", "up.lib:C.new")]}
    reasons = sorted(place["reason"] for place in report["left"])
    assert "--only pile.test_beside adopts it" in reasons[0]
    assert "--only pile.tests.test_it adopts it" in reasons[1]


@pytest.mark.processes
def test_what_others_set_in_a_module_of_the_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is set in the pack's module, which has the functions that read it."""
    conf = """\
    from up.lib import C

    word = "own"
    C.new = property(lambda self: word)
    """
    patches = "from pile import conf\nfrom up import lib\n\nlib.extra = 1\n"
    adopt(here, capsys, {"conf": dedent(conf), "patches": patches})
    start = "import pile.patches\npile.conf.word = 'set'\npile.conf.more = 1\n"
    start += "del pile.conf.more\n"
    probe = "import json\nfrom up import lib\nprint(json.dumps(lib.C().new))\n"
    rows = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{start}{probe}", PATCHKIT="0") == "set"
    assert here.answer(f"{rows}{start}{probe}") == "set"


@pytest.mark.processes
def test_a_pile_of_two_packages_is_kept_off(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each has stand-ins, which are there before it."""
    folder = here.folder / "both"
    for name, target in (("first", "f"), ("second", "g")):
        package = folder / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        text = (
            f"from up import lib\n\nold = lib.{target}\n\n\ndef new(*args, **words):\n"
        )
        text += f"    return ({name!r}, old(*args, **words))\n\n\nlib.{target} = new\n"
        (package / "patches.py").write_text(text)
    words = ["adopt", str(folder), *INTO_MINE, "--format", "json"]
    assert main(words) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["left"] == []
    old_pile, *_ = report["patches"]
    assert [change["target"] for change in old_pile["changes"]] == ["first", "second"]
    start = f"import sys\nsys.path.insert(0, {str(folder)!r})\n"
    start += "import first.patches, second.patches\n"
    rows = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{rows}{start}{PROBE}") == theirs
