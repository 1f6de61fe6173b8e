"""Tests for rows whose targets lie in what other rows put in place, add or replace."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import World, row

from patchkit.errors import ApplyError, UndoError

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world

UP = """
class C:
    def m(self): return ["m"]
class D(C): pass
TABLE = {"k": 1, "inner": {"x": 1}}
def f(): return 1 + 1
"""
BODY = """
def wrap(wrapped, instance, args, kwargs): return ["wrapped", *wrapped(*args, **kwargs)]
def added(self): return ["added"]
class C:
    def m(self): return ["other"]
TABLE = {"k": 2, "inner": {"x": 2}}
item = 3
def f(): return 5
"""


def _session(world: World, *changes: str) -> Session:
    """Arm a session with one row a change: a, b and so on, in this order."""
    world.module("up", UP)
    rows = [
        row(name, "patch_body", change)
        for name, change in zip("abcd", changes, strict=False)
    ]
    world.pack(*rows, patch_body=BODY)
    session = world.session()
    session.arm(frozenset(), lent=True)
    return session


REPLACE_CLASS = "Replace('up:C', by='C', unrelated=True)"
WRAP_METHOD = "Wrap('up:C.m', by='wrap')"
REPLACE_TABLE = "Replace('up:TABLE', by='TABLE')"
REPLACE_ITEM = "Replace('up:TABLE[\\'k\\']', by='item')"


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_part_of_a_class_goes_onto_the_class_that_an_earlier_row_brings(
    world: World, order: tuple[str, str]
) -> None:
    """Whichever came first, the wrapper lies in the class that is there; undo puts both back."""
    session = _session(world, REPLACE_CLASS, WRAP_METHOD)
    up = importlib.import_module("up")
    original = up.C
    for name in order:
        session.blocks.hold([name])
    assert up.C().m() == ["wrapped", "other"]
    session.blocks.let_go(["a"])
    assert up.C is original
    assert up.C().m() == ["wrapped", "m"]
    session.blocks.hold(["a"])
    assert up.C().m() == ["wrapped", "other"]
    session.blocks.let_go(["b"])
    assert up.C().m() == ["other"]
    session.blocks.let_go(["a"])
    assert up.C().m() == ["m"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_item_of_a_table_goes_into_the_table_that_an_earlier_row_brings(
    world: World, order: tuple[str, str]
) -> None:
    """The item is replaced in the table that is there, and the other table is as it was."""
    session = _session(world, REPLACE_TABLE, REPLACE_ITEM)
    up = importlib.import_module("up")
    original = up.TABLE
    for name in order:
        session.blocks.hold([name])
    assert up.TABLE["k"] == 3
    assert original["k"] == 1
    session.blocks.let_go(["a"])
    assert up.TABLE is original
    assert up.TABLE["k"] == 3
    session.blocks.let_go(["b"])
    assert up.TABLE["k"] == 1


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (WRAP_METHOD, REPLACE_CLASS),
        (REPLACE_ITEM, REPLACE_TABLE),
        ("Edit('up:C.m', old='\"m\"', new='\"n\"')", REPLACE_CLASS),
        ("Edit('up:f', old='1 + 1', new='3')", "Replace('up:f', by='f')"),
        (
            "Replace('up:TABLE[\\'inner\\'][\\'x\\']', by='item')",
            REPLACE_TABLE,
        ),
    ],
)
def test_a_replace_that_would_discard_an_earlier_patch_is_refused(
    world: World, part: str, whole: str
) -> None:
    """The error names both, and the earlier patch stays."""
    session = _session(world, part, whole)
    importlib.import_module("up")
    session.blocks.hold(["a"])
    with pytest.raises(ApplyError, match=r"\bb\b.*\ba\b"):
        session.blocks.hold(["b"])
    assert session.states["a"].status == "applied"


@pytest.mark.parametrize("wrapped", ["up:C.added", "up:D.added"])
def test_what_wraps_an_added_method_fails_when_that_is_taken_back(
    world: World, wrapped: str
) -> None:
    """As it would in a process without the added method; nothing of either is left."""
    session = _session(
        world, "Add('up:C.added', by='added')", f"Wrap('{wrapped}', by='wrap')"
    )
    up = importlib.import_module("up")
    session.blocks.hold(["a", "b"])
    assert up.D().added() == ["wrapped", "added"]
    with pytest.raises(UndoError, match="added"):
        session.blocks.let_go(["a"])
    assert not hasattr(up.D, "added")
    assert session.states["b"].status == "failed"
    session.blocks.let_go(["b"])
    assert not hasattr(up.D, "added")


def test_what_is_made_again_keeps_its_calls_once_and_may_be_skipped(
    world: World,
) -> None:
    """An AfterImport is undone once at the end, also where `when` refuses the patch meanwhile."""
    world.module("up", UP + "log = []\n")
    body = (
        BODY
        + "wanted = [True]\n"
        + "def when(): return wanted[0] or 'not now'\n"
        + "def call(module):\n    module.log.append('in')\n"
        + "    return lambda: module.log.append('out')\n"
    )
    part = f"{WRAP_METHOD}, AfterImport('up', call='call')"
    world.pack(
        row("a", "patch_body", REPLACE_CLASS),
        row("b", "patch_body", part, when="'when'"),
        patch_body=body,
    )
    session = world.session()
    session.arm(frozenset(), lent=True)
    up = importlib.import_module("up")
    session.blocks.hold(["b"])
    session.blocks.hold(["a"])
    assert (up.log, up.C().m()) == (["in"], ["wrapped", "other"])
    importlib.import_module("pack.patch_body").wanted[0] = False
    session.blocks.let_go(["a"])
    assert session.states["b"].status == "skipped"
    assert (up.log, up.C().m()) == (["in", "out"], ["m"])
