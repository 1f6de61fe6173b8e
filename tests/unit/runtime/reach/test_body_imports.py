"""Bodies that import what imports their target, and bodies that execute anew."""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest
from support import packages
from support.one_patch import MAIN, load
from support.packages import World, row
from support.undoing import undo

from patchkit.errors import ApplyError
from patchkit.runtime.process.patch_state import APPLIED, ARMED

world = packages.world

BASE = "Wrap('up.base:function', by='by')"
BY = "def by(wrapped, instance, args, kwargs): return ['by', *wrapped()]\n"


def importer(world: World, body: str, *changes: str, middle: str = "") -> None:
    """Write a module that imports the target at its top, and a body that imports that module."""
    world.module("up.base", "def function(): return []\n")
    world.module(
        "up.top", f"from up.base import function\n{middle}class Top: tall = 1\n"
    )
    world.pack(row("p", "patch_a", *(changes or (BASE,))), patch_a=body + BY)


@pytest.mark.parametrize(
    "body",
    [
        "from up.top import Top\n",
        "import up.top\nclass Mine(up.top.Top): ...\n",
        "import helper\n",
    ],
)
@pytest.mark.parametrize("first", ["up.top", "up.base"])
def test_a_body_may_import_what_imports_its_target(
    world: World, body: str, first: str
) -> None:
    """The patch waits for the importer, whichever is imported first; then its copies follow."""
    importer(world, body)
    world.module("helper", "from up.top import Top\n")
    session = world.session()
    session.arm(MAIN)
    load(first)
    assert load("up.top").function is load("up.base").function
    assert load("up.base").function() == ["by"]
    assert session.states["p"].status == APPLIED


def test_a_patch_that_waits_says_for_what(world: World) -> None:
    """Until the importer is whole, the row is armed with the reason."""
    importer(world, "from up.top import Top\n", middle="import look\nlook.now()\n")
    session = world.session()
    world.module("look").write_text("def now(): ...\n")
    state = session.states["p"]
    seen = []
    load("look").now = lambda: seen.append((state.status, state.reason))  # type: ignore[attr-defined]
    session.arm(MAIN)
    load("up.top")
    reason = "waits for the end of the import of up.top, which its body needs"
    assert seen == [(ARMED, reason)]
    assert (state.status, state.reason) == (APPLIED, "")


def test_a_row_may_change_both_modules(world: World) -> None:
    """The change of the target waits for its importer, and both modules are changed then."""
    changes = BASE, "Wrap('up.top:Top.method', by='by')"
    importer(world, "from up.top import Top\n", *changes)
    world.module(
        "up.top", "import up.base\nclass Top:\n    def method(self): return []\n"
    )
    world.session().arm(MAIN)
    top = load("up.top")
    assert top.Top().method() == ["by"]
    assert top.up.base.function() == ["by"]


def test_a_patch_goes_on_waiting_for_an_importer_that_fails(world: World) -> None:
    """The importer's own error is raised; the patch is applied once a later import succeeds."""
    importer(
        world, "from up.top import Top\n", middle="import flag\nif flag.bad: 1 / 0\n"
    )
    world.module("flag", "bad = True\n")
    session = world.session()
    session.arm(MAIN)
    with pytest.raises(ZeroDivisionError):
        load("up.top")
    assert load("up.base").function() == []
    load("flag").bad = False
    load("up.top")
    session.lookout.look_again()
    assert load("up.top").function() == ["by"]


def test_what_the_importer_never_has_is_a_failure(world: World) -> None:
    """A name that the importer lacks at its end fails the patch, and with it the import."""
    importer(world, "from up.top import Gone\n")
    world.session().arm(MAIN)
    with pytest.raises(ApplyError, match="Gone"):
        load("up.top")


# -- bodies that execute anew ----------------------------------------------------------------------

CLASSES = """
from up.base import Base
from up.top import Top
class MyBase(Base): mine = True
class MyTop(Top): mine = True
"""
TWO = "Replace('up.base:Base', by='MyBase')", "Replace('up.top:Top', by='MyTop')"


@pytest.mark.parametrize("reloaded", ["up.base", "up.top"])
def test_after_a_reload_all_classes_of_a_row_are_of_one_body(
    world: World, reloaded: str
) -> None:
    """The classes in both modules are those of the body as it is now, and pickle by reference."""
    world.module("up.base", "class Base: ...\n")
    world.module("up.top", "class Top: ...\n")
    world.module("up.user", "from up.base import Base\nfrom up.top import Top\n")
    world.pack(row("p", "patch_a", *TWO), patch_a=CLASSES)
    session = world.session()
    session.arm(MAIN)
    load("up.user")
    importlib.reload(sys.modules[reloaded])
    body = load("pack.patch_a")
    for module, cls in (("up.base", body.MyBase), ("up.top", body.MyTop)):
        name = cls.__bases__[0].__name__
        assert getattr(sys.modules[module], name) is cls
        assert pickle.loads(pickle.dumps(cls)) is cls
        assert [base.__name__ for base in cls.__mro__] == [f"My{name}", name, "object"]
    other = "Top" if reloaded == "up.base" else "Base"
    assert getattr(load("up.user"), other) is getattr(body, f"My{other}")
    undo(session)
    assert load("up.base").Base.__name__ == "Base"
    assert load("up.top").Top.__name__ == "Top"


def test_a_body_that_is_reloaded_acts_once(world: World) -> None:
    """After a reload, the body's change acts once, and the body itself has the original."""
    importer(world, "from up.base import function\n")
    session = world.session()
    session.arm(MAIN)
    load("up.top")
    importlib.reload(load("pack.patch_a"))
    assert load("up.base").function() == load("up.top").function() == ["by"]
    assert load("pack.patch_a").function() == []
    undo(session)
    assert load("up.base").function() == load("up.top").function() == []
