"""`patchkit adopt` of a pile: rows and bodies that do what its statements do."""

from __future__ import annotations

import sys
from textwrap import dedent

import pytest

from authoring.piles.pile_of_up import TOOLS, World, adopt, here, kinds, world
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
