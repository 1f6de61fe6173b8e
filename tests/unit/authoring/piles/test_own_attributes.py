"""What piles set that is named in other ways: by all names of a module, of a function, of the pile."""

from __future__ import annotations

from textwrap import dedent

import pytest
from analysis.check.released import write_wheels

from authoring.piles.pile_of_up import (
    TOOLS,
    UP,
    World,
    adopt,
    answers,
    here,
    kinds,
    world,
)

__all__ = ["here", "world"]


@pytest.mark.processes
def test_what_a_pile_sets_of_itself_is_no_change(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is in no row and not listed: the body sets it, as the pile's module does."""
    modules = {
        "__init__": "from pile import config, patches\n",
        "config": "FLAG = 1\nTABLE = {}\n",
        "patches": """\
        import pile
        from pile import config
        from up import lib

        config.FLAG = 5
        config.TABLE["x"] = 1
        pile.NAME = "p"


        def f(a, b=0):
            return (config.FLAG, config.TABLE, pile.NAME)


        lib.f = f
        """,
    }
    texts = {name: dedent(text) for name, text in modules.items()}
    report = adopt(here, capsys, texts)
    assert kinds(report) == {"patches": [("Replace", "up.lib:f")]}
    assert not report["left"]
    theirs, ours = answers(here)
    assert ours == theirs


def test_what_a_pile_registers_of_itself_is_a_row(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The registry, which is off, would have set it: no body does."""
    modules = {
        "__init__": "from pile import worker, patches\n",
        "worker": "class Worker:\n    def load(self):\n        return 1\n",
        "tools": TOOLS,
        "patches": """\
        from pile.tools import register_patch


        @register_patch(target="pile.worker.Worker.load", reason="first")
        def load(self):
            return 2
        """,
    }
    texts = {name: dedent(text) for name, text in modules.items()}
    report = adopt(here, capsys, texts)
    assert ("Replace", "pile.worker:Worker.load") in [
        change for changes in kinds(report).values() for change in changes
    ]


def test_names_of_a_star_are_those_of_the_module(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for names that the pile's module binds itself, as a parameter or otherwise."""
    text = """\
    from typing import *

    from up.lib import *


    def new(self, D=None):
        for size in range(3):
            size.real = D
        D.other = 1
        self.size = 1


    C.new = new
    g.extra, TABLE["b"] = 1, 2
    """
    report = adopt(here, capsys, {"patches": dedent(text)})
    assert kinds(report) == {"patches": [("Add", "up.lib:C.new")]}
    places = {place["place"] for place in report["left"]}
    assert places == {"up.lib.g.extra", "up.lib.TABLE['b']"}


@pytest.mark.processes
def test_an_attribute_of_a_function_is_added(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as a mark of what was patched; what the release sets is replaced."""
    lib = f"{UP['lib']}\n\nf.known = 1\n"
    here.module("up.lib", lib)
    write_wheels(here.folder, {"1.0": {**UP, "lib": lib}})
    text = """\
    from up import lib

    lib.f._patched = True
    lib.C.m._patched = True
    lib.f.known = 2
    lib.g.__doc__ = "new"
    lib.C.p.__doc__ = "new"
    """
    report = adopt(here, capsys, {"patches": dedent(text)})
    assert kinds(report) == {
        "patches": [
            ("Add", "up.lib:f._patched"),
            ("Add", "up.lib:C.m._patched"),
            ("Replace", "up.lib:f.known"),
        ]
    }
    places = [place["place"] for place in report["left"]]
    assert places == ["up.lib.g.__doc__", "up.lib.C.p.__doc__"]
    probe = """
    import json
    from up import lib
    told = [lib.f._patched, lib.C.m._patched, lib.f.known, lib.g.__doc__, lib.C.p.__doc__]
    print(json.dumps(told))
    """
    start = "from patchkit import applied\napplied(packs='mine').__enter__()\n"
    assert here.answer(f"{start}{dedent(probe)}") == [True, True, 2, "new", "new"]


@pytest.mark.parametrize(
    "statement", ["config.TABLE.update(x=1)", "config.COUNT += 1", "del config.OLD"]
)
def test_what_a_pile_changes_in_itself_is_not_listed(
    here: World, capsys: pytest.CaptureFixture[str], statement: str
) -> None:
    """The body keeps the statement."""
    modules = {
        "__init__": "from pile import config, patches\n",
        "config": "COUNT = 1\nOLD = 1\nTABLE = {}\n",
        "patches": "from pile import config\nfrom up import lib\n"
        f"{statement}\ndef f(a, b=0):\n    return config.COUNT\nlib.f = f\n",
    }
    report = adopt(here, capsys, modules)
    assert kinds(report) == {"patches": [("Replace", "up.lib:f")]}
    assert not report["left"]


def test_a_class_that_patches_a_class_of_the_pile_is_a_row(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its base would have set the attribute: no body does."""
    modules = {
        "__init__": "from pile import worker, patches\n",
        "worker": "class Worker:\n    def load(self):\n        return 1\n",
        "tools": "class Patch:\n    def __class_getitem__(cls, target):\n"
        "        return object\n",
        "patches": "from pile.tools import Patch\nfrom pile.worker import Worker\n"
        "class P(Patch[Worker]):\n    def load(self):\n        return 2\n",
    }
    report = adopt(here, capsys, modules)
    assert ("Replace", "pile.worker:Worker.load") in [
        change for changes in kinds(report).values() for change in changes
    ]
