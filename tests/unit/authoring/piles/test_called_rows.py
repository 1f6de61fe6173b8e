"""Rows that call a function of a pile, for what it is seen to change."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import (
    A_CLOSURE,
    PROBE,
    PROJECT,
    ROWS,
    World,
    adopt,
    answers,
    both,
    here,
    kinds,
    observed,
    world,
)
from patchkit.authoring.piles.observed import ChildProcess, observe
from patchkit.cli import main
from patchkit.errors import ScaffoldError

__all__ = ["here", "world"]

CALLS = {
    "several targets and a closure": """
        from up import lib, user

        def g():
            return "new g"

        def register():
            original = lib.C.m
            lib.C.m = lambda self, a, b=0: ("new", *original(self, a, b))
            lib.g = user.g = g
            lib.TABLE["a"] = 2
            lib.C.new = 5
            lib.D.m = lib.C.m
            lib.C.size += 1
        """,
    "a state of its own": """
        from up import lib

        def g():
            return ("new", original())

        def register():
            global original
            original = lib.g
            lib.g = g
        """,
    "a state in a table of its own": """
        from up import lib

        KEPT = {}

        def g():
            return ("new", KEPT["g"]())

        def register():
            KEPT["g"] = lib.g
            lib.g = g
        """,
    "an object of a module whose names change": """
        from up import lib

        word = "new"

        def g():
            return word

        def rename(other):
            global word
            word = other

        def register():
            lib.g = g
        """,
    "a loop over names that are worked out": """
        from up import lib

        def register():
            for name in [name for name in vars(lib) if name in "fg"]:
                old = getattr(lib, name)
                setattr(lib, name, lambda *args, old=old, **words: ("new", old(*args, **words)))
        """,
    "in place": """
        from up import lib

        def register():
            lib.TABLE.update(a=3, b=4)
            lib.C.s = staticmethod(lambda a: ("new", a))
        """,
}


@pytest.mark.processes
@pytest.mark.parametrize("form", CALLS)
def test_a_function_is_called_by_a_row(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """All that it changes is in the row; the plugin loader's own call does nothing then."""
    report = observed(here, capsys, {"start": CALLS[form]})
    assert report["left"] == []
    assert len(kinds(report)) == 1
    assert set(report["observed"]["depths"].values()) == {"taken"}
    theirs, ours = both(here)
    assert ours == theirs
    assert theirs != here.answer(PROBE, PATCHKIT="0")


@pytest.mark.processes
def test_the_function_is_named_on_the_command_line(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--call` names one that no entry point does."""
    text = "from up import lib\n\n\ndef put():\n    lib.g = lambda: 'new'\n"
    words = ("--observe", "--call", "pile.start:put")
    report = adopt(here, capsys, {"start": text}, *words)
    assert report["left"] == []
    assert report["observed"]["depths"] == {"up.lib:g": "decorated"}
    start = "import pile.start\npile.start.put()\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    assert here.answer(f"{ROWS}{start}{PROBE}") == theirs


@pytest.mark.processes
def test_a_function_whose_name_has_underscores_beside_each_other(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of its row has one hyphen there, as a pack with two cannot be loaded."""
    text = "from up import lib\n\n\ndef _put__it():\n    lib.g = lambda: 'new'\n"
    words = ("--observe", "--call", "pile.start:_put__it")
    report = adopt(here, capsys, {"start": text}, *words)
    assert list(kinds(report)) == ["pile-start-put-it"]


@pytest.mark.processes
def test_a_function_beside_rows_that_were_read(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pack has the module's text; who calls its function gets one that does nothing."""
    text = """
        from up import lib

        def f(a, b=0):
            return ("new", a, b)

        lib.f = f

        def register():
            original = lib.g
            lib.g = lambda: ("new", original())
        """
    report = observed(here, capsys, {"start": text})
    assert report["left"] == []
    assert report["observed"]["depths"] == {
        "up.lib:f": "read",
        "up.lib:g": "decorated",
    }
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
def test_what_the_import_sets_and_a_call_sets_again(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row of the import is read, and the row of the call comes after it."""
    text = """
        from up import lib

        def f(a, b=0):
            return "at import"

        lib.f = f

        def register():
            old = lib.f
            lib.f = lambda *args, **words: ("called", old(*args, **words))
        """
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["depths"] == {"up.lib:f": "decorated"}
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
def test_copies_that_a_call_leaves_are_named(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which of them have the original depends on who imports upstream first."""
    text = "from up import lib, user\n\n\ndef register():\n    lib.f = str\n"
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["copies"] == {"up.lib:f": ["up.user:f"]}


LEFT = {
    "it fails": (
        "lib.g = str; raise ValueError('no device')",
        "up.lib:g",
        "no device",
    ),
    "it returns something": (
        "del lib.TABLE['a']; return 'a.platform'",
        "up.lib:TABLE['a']",
        "it returned something",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("form", LEFT)
def test_a_call_that_no_row_makes_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The reason says why, beside the statement that was read."""
    statements, target, _reason = LEFT[form]
    text = f"from up import lib\n\n\ndef register():\n    {statements}\n"
    report = observed(here, capsys, {"start": text})
    assert report["observed"]["depths"] == {target: "in no row"}
    places = [place["place"] for place in report["left"]]
    assert places == [target.replace(":", ".", 1)]
    assert report["patches"] == []
