"""What a pile puts in the place of something that is of another kind."""

from __future__ import annotations

import pytest
from analysis.check.released import write_wheels

from authoring.piles.pile_of_up import (
    ROWS,
    UP,
    World,
    adopt,
    here,
    kinds,
    observed,
    world,
)

__all__ = ["here", "world"]

ODD = """\
import functools


async def co():
    return "co"


def gen():
    yield "gen"


@functools.lru_cache
def cached():
    return object()


class K:
    @staticmethod
    def s(a=0):
        return ("s", a)

    @classmethod
    def k(cls):
        return cls.__name__

    @property
    def p(self):
        return "p"
"""
ASK = """
import json
from up import odd
kinds = [type(vars(odd.K)[name]).__name__ for name in "skp"]
told = [list(odd.gen()), type(odd.co()).__name__]
print(json.dumps([kinds, told, odd.cached() is odd.cached(), callable(odd.K().p)]))
"""


@pytest.fixture
def odd(here: World) -> World:
    """The release has a module with functions of several kinds, too."""
    write_wheels(here.folder, {"1.0": {**UP, "odd": ODD}})
    here.module("up.odd", ODD)
    return here


METHODS = """\
from up import lib, odd
from up.odd import K


def s(self, a=0):
    return (self, a)


def k(self):
    return self


K.s = s
K.k = k
K.p = lambda self: "plain"
lib.extra = 1
"""


@pytest.mark.processes
def test_a_plain_method_for_another_kind_is_listed(
    odd: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row would make a static method of it; the body does what the pile does."""
    report = adopt(odd, capsys, {"patches": METHODS})
    assert kinds(report) == {"patches": [("Add", "up.lib:extra")]}
    reasons = [place["reason"].rpartition(" ")[0] for place in report["left"]]
    assert len(reasons) == 3
    assert all("a plain method" in reason for reason in reasons)
    theirs = odd.answer(f"import pile.patches\n{ASK}", PATCHKIT="0")
    assert odd.answer(f"{ROWS}import pile.patches\n{ASK}") == theirs


FUNCTIONS = """\
from up import lib, odd

inner = odd.co


def co():
    return inner()


def gen():
    return ["a list"]


def cached():
    return object()


odd.gen = gen
odd.cached = cached
odd.co = lambda: inner()
"""


@pytest.mark.processes
def test_a_function_of_another_kind_is_unrelated(
    odd: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row is not refused, and caches nothing that the pile does not cache."""
    report = adopt(odd, capsys, {"patches": FUNCTIONS})
    assert not report["left"]
    theirs = odd.answer(f"import pile.patches\n{ASK}", PATCHKIT="0")
    assert odd.answer(f"{ROWS}import pile.patches\n{ASK}") == theirs
    assert theirs[2] is False


CALLED = """
from up import odd


def around(function):
    def new(*args):
        return function(*args)

    return new


def register():
    original = odd.co

    def co():
        return original()

    def s(self, a=0):
        return (self, a)

    odd.co = co
    odd.K.s = s
"""
DECORATED = """
from up import odd


def around(function):
    def new(*args):
        return function(*args)

    return new


def register():
    odd.co = around(odd.co)
    odd.gen = around(odd.gen)
"""


@pytest.mark.processes
@pytest.mark.parametrize("text", [CALLED, DECORATED])
def test_rows_of_a_call_are_not_refused_for_their_kind(
    odd: World, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """A plain function around a coroutine function is no Decorate, as that would refuse it."""
    report = observed(odd, capsys, {"start": text})
    assert not report["left"]
    start = "import pile.start\npile.start.register()\n"
    theirs = odd.answer(f"{start}{ASK}", PATCHKIT="0")
    assert odd.answer(f"{ROWS}{start}{ASK}") == theirs
