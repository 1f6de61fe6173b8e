"""Functions of a pile that rows call, of which one calls the other."""

from __future__ import annotations

import pytest

from authoring.piles.pile_of_up import World, here, observed, world

__all__ = ["here", "world"]

OTHER = """
from up import lib


def other():
    before = lib.f

    def f(a, b=0):
        return ("other", *before(a, b))

    lib.f = f
"""
START = """
from up import lib
{import_}


def register():
    {call}
    lib.C.size = 2
"""


@pytest.mark.processes
@pytest.mark.parametrize(
    ("import_", "call"),
    [
        ("from pile.more import other", "other()"),
        ("import pile.more", "pile.more.other()"),
        ("", "from pile.more import other as patch; patch()"),
    ],
)
def test_a_function_that_is_kept_off_in_another_is_listed(
    here: World, capsys: pytest.CaptureFixture[str], import_: str, call: str
) -> None:
    """In the pile it patches twice; in the pack only its own row does."""
    modules = {"more": OTHER, "start": START.format(import_=import_, call=call)}
    words = ("--call", "pile.more:other", "--call", "pile.start:register")
    (place,) = observed(here, capsys, modules, *words)["left"]
    assert place["place"] == "up.lib:f"
    assert "calls pile.more:other, which a row keeps off" in place["reason"]


@pytest.mark.processes
@pytest.mark.parametrize("call", ["print()", "lib.f(1)"])
def test_functions_that_do_not_call_each_other_are_not(
    here: World, capsys: pytest.CaptureFixture[str], call: str
) -> None:
    """Each has a row, in the order of the calls."""
    start = START.format(import_="", call=f"{call}; lib.f = print")
    modules = {"more": OTHER, "start": start}
    words = ("--call", "pile.more:other")
    assert not observed(here, capsys, modules, *words)["left"]
