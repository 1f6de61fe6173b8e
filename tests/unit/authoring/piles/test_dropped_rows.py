"""Modules of a pile whose rows are dropped, as they were observed to set something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from authoring.piles.pile_of_up import PROBE, World, adopt, answers, here, kinds, world

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["here", "world"]

FIRST = """\
from up import lib


def f(a, b=0):
    return "first"


lib.f = f
exec("lib.f = lambda a, b=0: 'second'")
"""
OTHERS = {
    "another module has its names": {
        "patches": "from pile.first import f\nfrom up import lib\n\nlib.extra = f(1)\n"
    },
    "it is imported under a condition": {
        "patches": "from up import lib\n\nlib.extra = 1\nif lib.extra:\n    from pile import first\n"
    },
}

DEPTHS = {
    "another module has its names": "taken",
    "it is imported under a condition": "in no row",
}


@pytest.mark.processes
@pytest.mark.parametrize("form", OTHERS)
def test_a_module_that_is_run_as_a_whole(
    here: World, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    """The rows of other modules stay, and import its names from where its text is now."""
    modules: Mapping[str, str] = {"first": FIRST, **OTHERS[form]}
    here.module("pile.__init__", "from pile import patches\n")
    report = adopt(here, capsys, modules, "--observe")
    assert ("Replace", "up.lib:f") not in sum(kinds(report).values(), [])
    theirs, ours = answers(here)
    assert theirs != here.answer(PROBE, PATCHKIT="0")
    listed = [place["place"] for place in report["left"]]
    assert report["observed"]["depths"]["up.lib:f"] == DEPTHS[form]
    if DEPTHS[form] == "taken":
        assert ours == theirs
    else:
        assert "up.lib:f" in listed
