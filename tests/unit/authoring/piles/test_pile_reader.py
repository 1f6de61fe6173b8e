"""Which statements of a pile are listed that change something of upstream."""

from __future__ import annotations

from textwrap import dedent

import pytest

from authoring.index_of_up import serve
from authoring.piles.pile_of_up import (
    UP,
    PROBE,
    START,
    ROWS,
    World,
    adopt,
    here,
    observed,
    world,
)

__all__ = ["here", "world"]

LATER = """
    from up import lib

    def known(function):
        return function

    @known
    def later():
        lib.NAMES.append("new")

    def used(name):
        lib.NAMES.append(name)

    lib.C.size = 2
    """


def test_what_a_function_without_arguments_changes_in_place(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be called to patch, also where it is decorated; others just use upstream."""
    report = adopt(here, capsys, {"patches": dedent(LATER)})
    assert [(place["line"], place["place"]) for place in report["left"]] == [
        (9, "up.lib.NAMES")
    ]


REGISTRY = """
class Registry:
    def __init__(self):
        self.models = {}

    def register(self, name, model):
        self.models[name] = model


REGISTRY = Registry()
"""


@pytest.mark.processes
def test_a_registration_that_is_seen_is_in_a_row(
    here: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement names the registry elsewhere than where it is defined."""
    modules = {"registry": REGISTRY, "zoo": "from up.registry import REGISTRY\n"}
    serve(here, monkeypatch, {"1.0": {**UP, **modules}})
    for name, module in modules.items():
        here.module(f"up.{name}", module)
    text = """
        from up.zoo import REGISTRY

        def register():
            REGISTRY.register("new", 1)
        """
    report = observed(here, capsys, {"start": text})
    assert report["left"] == []
    probe = "from up.zoo import REGISTRY\nprint(REGISTRY.models['new'])\n"
    assert here.answer(f"{ROWS}{START}{probe}") == 1
