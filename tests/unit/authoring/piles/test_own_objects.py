"""Rows of a pile's own objects and factories, where these lie in its outermost module."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from authoring.index_of_up import INTO_MINE
from authoring.piles.pile_of_up import PROBE, ROWS, World, here, world
from patchkit.cli import main

__all__ = ["here", "world"]

CALLED = PROBE.replace('getattr(lib.C, "new", None)', 'getattr(lib.C, "new", str)(0)')
"""The same, with what a new method returns in place of the method itself."""
HEAD = "from up import lib\n\nWORD = 'new'\n\n"
OUTERMOST = {
    "a closure": """
        def register():
            original = lib.f
            old_m = lib.C.m

            def f(a, b=0):
                return (WORD, *original(a, b))

            def m(self, a, b=0):
                return (WORD, __name__, *old_m(self, a, b))

            lib.f = f
            lib.C.m = m
            lib.C.new = lambda self: WORD
        """,
    "a factory": """
        def loud(original):
            def inner(*args, **words):
                return (WORD, original(*args, **words))

            return inner

        def register():
            lib.f = loud(lib.f)
        """,
    "a name that is bound below": """
        def register():
            original = lib.f

            def f(a, b=0):
                return ("new", *original(a, b))

            lib.f = f
            lib.g = late

        def late():
            return ("late", WORD)
        """,
    "an own object": """
        def g():
            return (WORD, __name__)

        def register():
            lib.g = g
        """,
}
DEPTHS = {
    "a closure": "decorated",
    "a factory": "decorated",
    "a name that is bound below": "decorated",
    "an own object": "own object",
}


@pytest.mark.processes
@pytest.mark.parametrize("form", OUTERMOST)
def test_the_outermost_module_keeps_its_text(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """It has no stand-in: bodies use its names where they are, as they are at each call."""
    text = HEAD + dedent(OUTERMOST[form])
    (here.folder / "pile").mkdir()
    (here.folder / "pile" / "__init__.py").write_text(text, "utf-8")
    words = ["adopt", "pile", *INTO_MINE, "--observe", "--call", "pile:register"]
    assert main([*words, "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    depths = report["observed"]["depths"]
    assert set(depths.values()) <= {DEPTHS[form], "own object"}
    assert DEPTHS[form] in depths.values()
    assert main(["check", "--patches", "mine", "--releases", "up==1.0"]) == 0
    start = "import pile\npile.register()\n"
    late = f"pile.WORD = 'another'\n{CALLED}"
    theirs = here.answer(f"{start}{CALLED}", PATCHKIT="0")
    theirs_late = here.answer(f"{start}{late}", PATCHKIT="0")
    assert theirs != theirs_late
    assert here.answer(f"{ROWS}{start}{CALLED}") == theirs
    assert here.answer(f"{ROWS}{start}{late}") == theirs_late
    assert here.answer(f"{ROWS}{CALLED}") == theirs
    armed = f"import patchkit.auto\nimport pile\n{CALLED}"
    assert here.answer(armed, PATCHKIT_PATCHES="mine") == theirs
