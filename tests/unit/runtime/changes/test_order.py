from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row
from support.undoing import undo

from patchkit import Add, AfterImport, Provide, Replace, Role, Wrap
from patchkit.runtime.changes.context import in_waves

if TYPE_CHECKING:
    from patchkit.runtime.process.session import Session

world = packages.world
CLASS = Replace("m:C", by="C")
METHOD = Wrap("m:C.f", by="by")


@pytest.mark.parametrize(
    ("changes", "sizes"),
    [
        ((CLASS, METHOD), [1, 1]),
        ((METHOD, CLASS), [1, 1]),
        ((CLASS, Replace("m:Cat.f", by="f"), METHOD, Wrap("m:C.g", by="by")), [2, 2]),
        ((CLASS, Replace("m:C.f", by="f"), Wrap("m:C.f.g", by="by")), [1, 1, 1]),
        ((Add("m:T['a']", by="a"), Replace("m:T['a'].b", by="b")), [1, 1]),
        ((CLASS, Wrap("other:C.f", by="by"), AfterImport("m", call="f")), [3]),
        ((Provide("m"), METHOD), [2]),
        ((Wrap("m:C", by="by"), METHOD), [2]),
    ],
)
def test_a_change_inside_what_an_earlier_one_puts_in_waits(
    changes: object, sizes: list[int]
) -> None:
    """It begins a new wave; all other changes share one, and the declared order is kept."""
    waves = list(in_waves(enumerate(changes)))  # type: ignore[arg-type]
    assert [len(wave) for wave in waves] == sizes
    places = [place for place, _ in chain.from_iterable(waves)]
    assert places == list(range(sum(sizes)))


UPSTREAM = """
class C:
    def f(self): return 'old'
made = C
"""
BODY = """
from up.mod import C as Original
class C(Original):
    def f(self): return 'new'
def by(wrapped, instance, args, kwargs): return ('by', wrapped())
"""


def a_session(
    world: World, last_change: str = "Wrap('up.mod:C.f', by='by')"
) -> Session:
    """A session with one row, which replaces class C and then makes another change."""
    world.module("up.mod", UPSTREAM)
    replace = "Replace('up.mod:C', by='C')"
    world.pack(row("p", "patch_a", replace, last_change), patch_a=BODY)
    return world.session()


def test_a_wrapped_method_of_a_class_that_the_same_row_replaces(world: World) -> None:
    """The wrapper goes around the new class's method, and undo takes both changes back."""
    session = a_session(world)
    session.arm(MAIN)
    module = load("up.mod")
    assert module.C().f() == ("by", "new")
    original = module.C.__bases__[0]
    assert original().f() == "old"
    undo(session)
    assert module.C is original
    assert load("pack.patch_a").C().f() == "new"


def test_a_later_change_of_a_row_that_cannot_be_made(world: World) -> None:
    """A Wrap of what the new class lacks fails the import, and the row with it."""
    session = a_session(world, "Wrap('up.mod:C.missing', by='by')")
    session.arm({Role.MAIN})
    with pytest.raises(Exception, match="missing"):
        load("up.mod")
    assert session.states["p"].status == "failed"
