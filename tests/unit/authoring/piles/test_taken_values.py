"""Rows of what a call of a pile's function sets, whose values are taken from that call."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from authoring.piles.pile_of_up import (
    PROBE,
    START,
    World,
    adopt,
    both,
    here,
    kinds,
    observed,
    world,
)
from patchkit.authoring.piles.taken_values import TAKEN_TEXT

__all__ = ["here", "world"]

A_HELPER = """
    from up import lib

    def put(owner, name, value):
        if not hasattr(owner, f"_old_{name}"):
            setattr(owner, f"_old_{name}", getattr(owner, name))
        setattr(owner, name, value)

    def register():
        old = lib.f

        def f(a, b=0):
            return ("new", *old(a, b))

        put(lib, "f", f)
        put(lib.C, "m", lambda self, a, b=0: ("new", *self._old_m(a, b)))
        put(lib, "g", str)
        lib.TABLE["b"] = 2
        lib.TABLE.pop("a")
    """


@pytest.mark.processes
def test_each_attribute_is_a_change_of_its_own(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where a helper sets it, which is given the owner and the name."""
    report = observed(here, capsys, {"start": A_HELPER})
    (changes,) = kinds(report).values()
    assert sorted(changes) == [
        ("Add", "up.lib:C._old_m"),
        ("Add", "up.lib:TABLE['b']"),
        ("Add", "up.lib:_old_f"),
        ("Add", "up.lib:_old_g"),
        ("Decorate", "up.lib:C.m"),
        ("Decorate", "up.lib:f"),
        ("Replace", "up.lib:g"),
    ]
    theirs, ours = both(here)
    assert ours == theirs


@pytest.mark.processes
@pytest.mark.parametrize("first", ["import up.lib", "import pile"])
def test_upstream_is_imported_later(
    here: World, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    """A row waits for the pile's module, whose import may be what makes the row due."""
    observed(here, capsys, {"start": A_HELPER})
    theirs = here.answer(f"{first}\n{START}{PROBE}", PATCHKIT="0")
    program = f"import patchkit.auto\n{first}\n{START}{PROBE}"
    assert here.answer(program, PATCHKIT_PATCHES="mine") == theirs


@pytest.mark.processes
def test_undone_and_made_again(here: World, capsys: pytest.CaptureFixture[str]) -> None:
    """The originals come back, and the same values after that."""
    observed(here, capsys, {"start": A_HELPER})
    program = """
import json
from patchkit import applied
from up import lib
told = []
for _ in range(2):
    told.append([lib.f(1), lib.C().m(1), hasattr(lib, "_old_f"), "b" in lib.TABLE])
    with applied(packs="mine"):
        told.append([lib.f(1), lib.C().m(1), hasattr(lib, "_old_f"), "b" in lib.TABLE])
print(json.dumps(told))
"""
    plain = [["f", 1, 0], ["m", 1, 0], False, False]
    patched = [["new", "f", 1, 0], ["new", "m", 1, 0], True, True]
    assert here.answer(program) == [plain, patched, plain, patched]


@pytest.mark.processes
def test_what_the_function_does_not_set_elsewhere(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it has a condition that does not hold, upstream stays as it is."""
    text = """
        import os
        from up import lib

        def register():
            if os.environ.get("OFF") == "1":
                return
            lib.extra = object()
            for name in ("f", "g"):
                setattr(lib, name, lambda *args, name=name, **words: ("new", name))
        """
    observed(here, capsys, {"start": text})
    plain = here.answer(PROBE, PATCHKIT="0")
    rows = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{rows}{START}{PROBE}", OFF="1") == plain
    assert here.answer(f"{rows}{START}{PROBE}") != plain


@pytest.mark.processes
@pytest.mark.parametrize("base", ["pile.start", "pile.patches"])
def test_whoever_calls_the_function_gets_what_it_returns(
    here: World, capsys: pytest.CaptureFixture[str], base: str
) -> None:
    """It runs once, in the row; its module may be the pile's own, or have a stand-in."""
    text = """
        from up import lib

        calls = []

        def register():
            calls.append(1)
            vars(lib)["g"] = lambda: ("new", len(calls))
            return "done"
        """
    modules = {"start": text}
    if base == "pile.patches":
        modules = {
            "start": "from pile.patches import register\n",
            "patches": text.replace(
                "calls = []", "calls = []\n        lib.f = lambda a, b=0: a"
            ),
        }
    report = observed(here, capsys, modules)
    assert report["left"] == []
    program = """
import json
import pile.start
told = [pile.start.register(), pile.start.register()]
from up import lib
print(json.dumps([told, lib.g()]))
"""
    rows = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{rows}{program}") == [["done", "done"], ["new", 1]]


@pytest.mark.processes
def test_a_function_that_the_package_calls_as_it_is_imported(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a call like that of an entry point; a package has no stand-in."""
    here.module("pile.__init__", "from pile import patches\nDONE = patches.apply()\n")
    text = """
from up import lib

def apply():
    for name in ("f", "g"):
        setattr(lib, name, lambda *args, name=name, **words: ("new", name))
    return ["f", "g"]
"""
    report = adopt(here, capsys, {"patches": text}, "--observe")
    assert report["left"] == []
    assert set(report["observed"]["depths"].values()) == {"taken"}
    start = "import pile\n"
    theirs = here.answer(f"{start}{PROBE}", PATCHKIT="0")
    rows = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{rows}{start}{PROBE}") == theirs
    armed = f"import patchkit.auto\n{start}{PROBE}"
    assert here.answer(armed, PATCHKIT_PATCHES="mine") == theirs


LOWER = """
def f():
    return "f"


def register():
    original = f

    def new():
        return "new " + original()

    globals().update(f=new)
"""


def test_another_original_than_the_function_has_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The function is called once more with that in its place, and leaves nothing there."""
    module = ModuleType("lower")
    exec(LOWER, vars(module))
    monkeypatch.setitem(sys.modules, "lower", module)
    pack: dict[str, Any] = {}
    exec(TAKEN_TEXT, pack)
    original = vars(module)["f"]
    taken = pack["Taken"](vars(module)["register"], {"f": ("lower", "f")})
    assert taken.made_of("f", original)() == "new f"
    assert taken.made_of("f", lambda: "other")() == "new other"
    assert vars(module)["f"] is original
