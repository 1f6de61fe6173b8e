"""`patchkit adopt` of a pile: rows and bodies that do what its statements do."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from textwrap import dedent

import pytest

from authoring.adopt.pile_of_up import PROBE, TOOLS, World, adopt, here, kinds, world
from patchkit import applied
from patchkit.cli import main

__all__ = ["here", "world"]


def test_undo_gives_everything_back(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """After adopted rows are undone, the class has its original method again."""
    text = "from up.lib import C\n\n\ndef m(self, a, b=0):\n    return 'new'\n\n\nC.m = m\n"
    adopt(here, capsys, {"patches": text})
    sys.path_importer_cache.clear()
    from up import lib

    original = vars(lib.C)["m"]
    with applied(packs="mine"):
        assert lib.C().m(1) == "new"
    assert vars(lib.C)["m"] is original
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0


def test_conditions_of_the_importing_file(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test of the version is a requirement, any other a `when`; `try` makes a row optional."""
    here.module(
        "pile.__init__",
        """\
        import os

        def version_is(text):
            return text == "1.0"

        WANTED = os.environ.get("WANTED")
        if version_is("1.0"):
            from pile import patch_a
        if not version_is("1.0"):
            from . import patch_b
        if WANTED:
            import pile.patch_c
        try:
            import pile.patch_d
        except ImportError:
            pass
        """,
    )
    text = "from up.lib import C\nC.new_{0} = '{0}'\n"
    modules = {f"patch_{letter}": text.format(letter) for letter in "abcd"}
    modules["patch_c"] += "assert __import__('os').environ['WANTED']\n"
    report = adopt(here, capsys, modules)
    assert list(kinds(report)) == ["a", "b", "c", "d"]
    sys.path_importer_cache.clear()
    rows = {row.name: row for row in __import__("mine").PATCHES}
    assert rows["a"].requires[0] == "up==1.0"
    assert rows["b"].requires[0] == "up>=1.0,!=1.0"
    assert rows["c"].requires[0] == "up==1.0"
    assert rows["c"].when == "when"
    assert rows["a"].required is True
    assert rows["d"].required is False
    main(["show", "c", "--patches", "mine"])
    from up.lib import C

    with applied("a", "d", packs="mine"):
        assert (C.new_a, C.new_d, hasattr(C, "new_c")) == ("a", "d", False)  # type: ignore[attr-defined]


def test_a_chain_keeps_its_order(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second row of a target comes after the first, and calls what that has put there."""
    here.module("pile.__init__", "from pile import patch_z, patch_a\n")
    text = (
        "from up.lib import C\nold = C.m\n\n\ndef m(self, a, b=0):\n"
        "    return '{0}', old(self, a)\n\n\nC.m = m\n"
    )
    report = adopt(
        here, capsys, {"patch_a": text.format("a"), "patch_z": text.format("z")}
    )
    assert list(kinds(report)) == ["z", "a"]
    sys.path_importer_cache.clear()
    assert [row.after for row in __import__("mine").PATCHES] == [(), (), ("z",)]
    with applied(packs="mine"):
        from up.lib import C

        assert C().m(1) == ("a", ("z", ("m", 1, 0)))


def test_registrations_are_rows_of_their_own(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row has the registration's reason and condition, and builds its value once it is due."""
    text = """\
    from pile.tools import register_patch
    from up.lib import C

    @register_patch(target="up.lib.C.m", reason="first", priority=0)
    def m(self, a, b=0):
        return "m"

    @register_patch(target="up.lib.C.s", reason="second", build=True, priority=90)
    def build():
        was = C.m
        return staticmethod(lambda a: ("built", was(None, a)))

    @register_patch(target="up.lib.g", reason="never", condition=lambda: False)
    def g():
        return "g"
    """
    report = adopt(here, capsys, {"patches": dedent(text), "tools": TOOLS})
    sys.path_importer_cache.clear()
    rows = [row for row in __import__("mine").PATCHES if row.name != "old-pile"]
    assert [row.why for row in rows] == ["first", "never", "second"]
    assert len(report["patches"]) == 4
    with applied(rows[0].name, rows[2].name, packs="mine"):
        from up import lib

        assert lib.C.s(1) == ("built", "m")


def test_modules_that_the_pile_does_not_import_stay_with_it(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Somebody else imports them, under conditions that nobody knows: they become no rows."""
    here.module("pile.__init__", "from pile import patch_a\n")
    text = "from up.lib import C\nC.new_{0} = 1\n"
    report = adopt(here, capsys, {f"patch_{name}": text.format(name) for name in "ab"})
    assert list(kinds(report)) == ["a"]
    assert [place["reason"] for place in report["left"]] == [
        "pile does not import pile.patch_b; --only pile.patch_b adopts it"
    ]


@pytest.mark.processes
def test_a_package_that_patches_stays_a_package(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its submodules are imported as before; modules named alike have rows of their own."""
    here.module("pile.patches.helper", "VALUE = 'helped'\n")
    text = "from up import lib\nfrom .helper import VALUE\nlib.extra = VALUE\n"
    here.module("pile.patches.__init__", text)
    modules = {
        "patch_x": "from up.lib import C\nC.new = 1\n",
        "x": "from up import lib\nlib.g = 2\n",
    }
    report = adopt(here, capsys, modules)
    assert report["left"] == []
    assert sorted(kinds(report)) == ["patches", "x", "x-2"]
    probe = PROBE.replace("lib.g()", "lib.g").replace(", user.use()", "")
    probe = f"import pile.patches.helper, pile.patch_x, pile.x\n{probe}"
    of_pile = here.answer(f"import pile.patches\n{probe}", PATCHKIT="0")
    apply = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{apply}{probe}") == of_pile


def test_modules_in_no_package_are_listed_as_not_kept_off(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """They become rows, but nothing can keep the modules themselves off."""
    (here.folder / "loose").mkdir()
    (here.folder / "loose" / "one.py").write_text("from up.lib import C\nC.new = 1\n")
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
    assert main(["adopt", "loose", *words]) == 1
    report = json.loads(capsys.readouterr().out)
    assert [patch["name"] for patch in report["patches"]] == ["one"]
    assert "nothing keeps it off" in report["left"][0]["reason"]


def test_a_loop_over_all_modules_is_one_replace(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row repoints the copies of what it replaces, as the loop over `sys.modules` did."""
    text = """\
    import sys
    from up.user import C as original

    class E(original):
        pass

    for name, module in list(sys.modules.items()):
        if hasattr(module, "C") and module.C == original:
            module.C = E
    """
    report = adopt(here, capsys, {"patches": dedent(text)})
    assert kinds(report) == {"patches": [("Replace", "up.lib:C")]}
    sys.path_importer_cache.clear()
    from up import lib, user

    with applied(packs="mine"):
        assert lib.C is user.C
        assert lib.C.__name__ == "E"


def test_comments_and_docstrings_say_why_a_row_is_there(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A catalogue in comments fills the fields by its headings; else the docstring is the `why`."""
    here.module(
        "pile.__init__",
        """\
        # ** 1. File: pile/patch_a.py **
        #    Why:
        #       a is
        #       slow.
        #    Related PR: https://github.com/o/r/pull/7 is open
        #    Future Plan:
        #       once it is in
        from pile import patch_a, patch_b
        """,
    )
    text = '"""B is\nslow.\n\nMore."""\nfrom up.lib import C\nC.new_{0} = 1\n'
    adopt(here, capsys, {f"patch_{name}": text.format(name) for name in "ab"})
    sys.path_importer_cache.clear()
    _, a, b = __import__("mine").PATCHES
    assert (a.why, a.sunset) == ("a is slow.", "once it is in")
    assert a.upstream == "https://github.com/o/r/pull/7"
    assert b.why == "B is slow."


@pytest.mark.processes
def test_observing_lists_what_no_row_does(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A child imports the pile: changes without a row are listed, as are copies and faults."""
    text = """\
    import absent.deep
    from up import lib, user

    class Thing(absent.deep.Base):
        pass

    def g():
        return absent.deep.call(1)

    lib.g = g
    exec("lib.C.m = lambda self: 1")
    if absent.deep.call():
        lib.extra = 1
    """
    words = ("--observe", "--stub", "absent")
    report = adopt(here, capsys, {"patches": dedent(text)}, *words)
    seen = report["observed"]
    assert seen["faults"] == {}
    assert seen["copies"] == {"up.lib:g": ["up.user:g"]}
    assert seen["inactive"] == ["up.lib:extra"]
    assert [place["place"] for place in report["left"]] == ["up.lib:C.m"]
    shutil.rmtree(here.folder / "mine")
    failing = {"patches": "import nowhere\n" + dedent(text)}
    report = adopt(here, capsys, failing, "--dry-run", *words)
    assert "ModuleNotFoundError" in str(report["observed"]["faults"])


def test_the_text_output_counts_what_is_in_rows(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says how much is in rows, and where the rest is."""
    here.module("pile.patches", "from up.lib import C\nC.new = 1\ndel C.size\n")
    words = ["adopt", "pile", "--into", "mine", "--of", "up", "--releases", "up==1.0"]
    assert main([*words, "--dry-run"]) == 1
    out = capsys.readouterr().out
    assert "2 rows mine, for up==1.0 (not written)\n" in out
    assert "\nold-pile  1 BeforeImport\npatches   1 Add\n" in out
    assert "in no row\npile/patches.py:3  del C.size" in out
    assert "1 of 2 changes are in rows" in out
    assert not (here.folder / "mine").exists()


@pytest.mark.processes
def test_the_pile_itself_is_no_release_to_look_at(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """No command asks an index for the pile or for its version, as nobody has released it."""
    adopt(here, capsys, {"patches": "from up.lib import C\nC.new = 1\n"})
    for words in (
        ["check"],
        ["check", "old-pile"],
        ["lock"],
        ["list", "--debt"],
        ["history", "old-pile"],
        ["rebase", "old-pile", "--to", "1.0"],
    ):
        assert main([*words, "--patches", "mine"]) == 0, words
    out, err = capsys.readouterr()
    assert "pile 1" not in out
    assert "old-pile: left as it is, it changes nothing of up" in err


def test_a_release_whose_name_begins_like_upstreams_is_a_pile(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`up-pile==1.0` is a pile of its own, and no later `up`."""
    with zipfile.ZipFile(here.folder / "up_pile-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("up_pile/__init__.py", "")
        archive.writestr("up_pile/patches.py", "from up.lib import C\nC.new = 1\n")
        archive.writestr("up_pile-1.0.dist-info/METADATA", "Name: up-pile\n")
    words = [
        "adopt",
        "up-pile==1.0",
        "--into",
        "mine",
        "--of",
        "up",
        "--releases",
        "up==1.0",
    ]
    assert main(words) == 0
    assert "1 of 1 changes are in rows" in capsys.readouterr().out


def test_a_part_of_a_package_is_adopted_with_a_warning(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`adopt` ends with 0, and warns that the folder is only a part of a package."""
    here.module("pile.sub.patches", "from up.lib import C\nC.new = 1\n")
    words = [
        "adopt",
        "pile/sub",
        "--into",
        "mine",
        "--of",
        "up",
        "--releases",
        "up==1.0",
    ]
    assert main(words) == 0
    assert "pile/sub is a part of a package" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (
            ["--only", "patches"],
            "--only: found no module patches in pile, expected its dotted name",
        ),
        (["--stub", "absent"], "--stub: found no --observe, expected both"),
        (["--into", "my-pack"], "found 'my-pack', expected a name to import"),
    ],
)
def test_wrong_use_is_refused(
    here: World, capsys: pytest.CaptureFixture[str], words: list[str], fault: str
) -> None:
    """The error says what was expected."""
    here.module("pile.patches", "from up.lib import C\nC.new = 1\n")
    options = ["--into", "mine", "--of", "up", "--releases", "up==1.0"]
    assert main(["adopt", "pile", *options, *words]) == 2
    assert fault in capsys.readouterr().err


def test_a_pile_that_no_row_can_express_is_listed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """All of it is in the list, and no pack is written."""
    here.module("pile.patches", "from up import lib\nlib.LIST.append(1)\n")
    words = ["adopt", "pile", "--into", "mine", "--of", "up", "--releases", "up==1.0"]
    assert main(words) == 1
    out = capsys.readouterr().out
    assert "\npile/patches.py:2  lib.LIST.append(1)\n    it cha" in out
    assert not (here.folder / "mine").exists()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x = 1\n", "contains no patch that a row can express"),
        ("def\n", "contains no patch that a row can express"),
    ],
)
def test_a_package_without_patches_is_refused(
    here: World, capsys: pytest.CaptureFixture[str], text: str, fault: str
) -> None:
    """Modules that patch nothing or do not parse are one error, and no pack is written."""
    here.module("pile.patches", text)
    words = ["adopt", "pile", "--into", "mine", "--of", "up", "--releases", "up==1.0"]
    assert main(words) == 2
    assert fault in capsys.readouterr().err
    assert not (here.folder / "mine").exists()


WRAPPER = """\
from up import lib

original = lib.f


def wrapper(*args, **kwargs):
    return original(*args, **kwargs)


lib.f = wrapper
"""


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        ("from pile.patches import wrapper\n\ncopy = wrapper\n", "Replace"),
        ("from pile import patches\n", "Wrap"),
        ("wrapper = 'a name of its own'\n", "Wrap"),
    ],
)
def test_a_wrapper_that_another_module_uses_is_no_wrap(
    here: World, capsys: pytest.CaptureFixture[str], user: str, kind: str
) -> None:
    """It stays a function with its own parameters, as a Wrap's function takes other ones."""
    report = adopt(here, capsys, {"patches": WRAPPER, "user": user})
    (changes,) = kinds(report).values()
    assert changes == [(kind, "up.lib:f")]
