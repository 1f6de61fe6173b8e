"""A Decorate in a session: copies, reloads, undo, failure, agreement."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.packages import row

from patchkit import Role
from patchkit.errors import ApplyError

if TYPE_CHECKING:
    from support.packages import World

world = packages.world

UP = """
def function(): return "old"
class Thing:
    def method(self): return "old"
class Part(Thing): pass
"""
USER = """
from up.mod import function, Thing
class Own(Thing): pass
def answers(): return function(), Thing().method(), Own().method()
"""
BODY = """
asked = []
def noting(target):
    asked.append(target)
    return lambda *args: ("new", target(*args))
def broken(target):
    raise ValueError("not for " + target.__name__)
"""
OF_FUNCTION = "Decorate('up.mod:function', by='noting')"
OF_METHOD = "Decorate('up.mod:Thing.method', by='noting')"


@pytest.fixture
def armed(world: World) -> Any:
    """Return a function that arms a process of main with one row of some changes."""
    world.module("up.mod", UP)
    world.module("up.user", USER)

    def arm(*changes: str) -> Any:
        world.pack(row("p", "patch_a", *changes), patch_a=BODY)
        session = world.session()
        session.arm({Role.MAIN})
        return session

    return arm


def test_copies_are_repointed(armed: Any) -> None:
    """Whether the modules were imported before or after."""
    user = importlib.import_module("up.user")
    assert user.answers() == ("old", "old", "old")
    armed(OF_FUNCTION, OF_METHOD)
    expected = (("new", "old"),) * 3
    assert user.answers() == expected


def test_a_reload_asks_again(armed: Any) -> None:
    """The module has another function then."""
    session = armed(OF_FUNCTION)
    mod = importlib.import_module("up.mod")
    former = mod.function
    importlib.reload(mod)
    assert mod.function is not former
    assert mod.function() == ("new", "old")
    assert session.states["p"].status == "applied"


def test_an_error_of_the_decorator_fails_the_patch(armed: Any) -> None:
    """All its changes are taken back."""
    armed(OF_METHOD, "Decorate('up.mod:function', by='broken')")
    with pytest.raises(ApplyError, match="ValueError: not for function"):
        importlib.import_module("up.mod")


def test_what_it_decorates_is_told_as_overwritten(armed: Any) -> None:
    """A stranger who puts something else there hides the patch."""
    session = armed(OF_FUNCTION)
    mod = importlib.import_module("up.mod")
    mod.function = lambda: "strange"
    with pytest.raises(ApplyError, match="overwritten"):
        session.lookout.look_again()
