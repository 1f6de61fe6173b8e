"""Functions of piles: whether one does nothing but set what it was observed to set."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest

from patchkit.analysis.upstream.resolving.module_tree import ModuleTree
from patchkit.authoring.piles.keeping_off import PileFunction
from patchkit.authoring.piles.pile_reader import PileReader
from patchkit.authoring.piles.plain_functions import (
    Expected,
    does_nothing_else,
    quiet_modules,
)

HEAD = """\
import logging
from up import lib
from functools import partial, wraps

logger = logging.getLogger(__name__)
others = Others()


def g(): ...


def loud(original): ...


def more():
    lib.g = g


def again():
    again()


"""
PLAIN = [
    "lib.g = g",
    "setattr(lib, 'g', g)",
    "from up import lib as l\nl.g = g",
    "logger.info('set %s', lib.g)\nlib.g = g",
    "print('setting')\nlib.g = g",
    "lib.g = loud(lib.g)",
    "lib.g = staticmethod(g)",
    "import pile.quiet\nlib.g = g",
    "more()",
    "original = lib.g\n\n@wraps(original)\ndef f(): ...\nlib.g = f",
    "lib.g = lambda a=1: a",
    "return lib.g",
]
NOT_PLAIN = [
    "lib.f = g",
    "lib.TABLE['a'] = g",
    "table['a'] = g",
    "g.word = 1",
    "del lib.f",
    "lib.g += g",
    "lib.NAMES.append(g)",
    "logger.info(unknown())\nlib.g = g",
    "others.info('on')\nlib.g = g",
    "logger.log(10, 'set')\nlib.g = g",
    "import pile.loud\nlib.g = g",
    "from pile import loud as other\nlib.g = g",
    "if lib.f:\n    lib.g = g",
    "for name in 'fg':\n    lib.g = g",
    "with lib.f:\n    lib.g = g",
    "try:\n    lib.g = g\nfinally:\n    pass",
    "lib.g = unknown(g)",
    "lib.g = [f() for f in (g,)]",
    "lib.g = (name := g)",
    "def f(a=unknown()): ...\nlib.g = g",
    "@unknown\ndef f(): ...\nlib.g = g",
    "def g(): ...\ng()",
    "class Own:\n    pass\nlib.g = g",
    "setattr(lib, unknown, g)",
    "again()",
    "loud(lib.f)(g)()",
    "lib.g = lambda a=unknown(): a",
]


def reader_of(name: str, text: str) -> PileReader:
    """Read a module."""
    path = f"{name.replace('.', '/')}.py"
    module = ModuleTree(name, path, False, ast.parse(text), text.encode())
    reader = PileReader(module)
    reader.read()
    return reader


def is_plain(body: str) -> bool:
    """Whether a function with a body does nothing but set `up.lib.g`."""
    text = f"{HEAD}def register():\n{indent(body, '    ')}\n"
    readers = {
        "pile.start": reader_of("pile.start", text),
        "pile.quiet": reader_of("pile.quiet", "word = 1\n"),
        "pile.loud": reader_of("pile.loud", "import os\nos.environ['A'] = '1'\n"),
    }
    expected = Expected(["up.lib.g"], ["pile.start:loud"], quiet_modules(readers), str)
    return does_nothing_else(readers, PileFunction("pile.start", "register"), expected)


@pytest.mark.parametrize("body", PLAIN)
def test_a_function_that_only_sets(body: str) -> None:
    """What it imports, reads, defines and logs changes nothing."""
    assert is_plain(body)


@pytest.mark.parametrize("body", NOT_PLAIN)
def test_a_function_that_may_do_more(body: str) -> None:
    """What is not known to do nothing else counts as if it did."""
    assert not is_plain(body)


def test_a_function_that_cannot_be_read() -> None:
    """It is in no module of the pile, there twice, decorated, or a method."""
    readers = {
        "pile": reader_of(
            "pile",
            "def twice(): ...\ndef twice(): ...\n@cached\ndef f(): ...\n"
            "class C:\n    def m(self): ...\n",
        )
    }
    expected = Expected([], [], [], str)
    for name in ("pile:twice", "pile:f", "pile:C.m", "other:f"):
        assert not does_nothing_else(readers, PileFunction.of(name), expected)


QUIET = {
    "import os\nword = 1\ndef f(): ...\nclass C: ...\n": True,
    "'a text'\nwords = ('a', 'b')\n": True,
    "import pile.loud\n": False,
    "word = f()\n": False,
    "lib.word = 1\n": False,
    "class C(lib.C): ...\n": False,
    "@cached\ndef f(): ...\n": False,
    "if word:\n    pass\n": False,
}


@pytest.mark.parametrize("text", QUIET)
def test_modules_that_only_define(text: str) -> None:
    """One that imports a module that does more does more itself."""
    readers = {
        "pile.one": reader_of("pile.one", text),
        "pile.loud": reader_of("pile.loud", "start()\n"),
    }
    assert ("pile.one" in quiet_modules(readers)) is QUIET[text]
