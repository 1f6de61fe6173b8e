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


def importer(world: World, body: str, *changes: str, rest: str = "") -> None:
    """A module that imports the target at its top, and a body that imports that module."""
    world.module("up.base", "def function(): return []\n")
    world.module("up.top", f"from up.base import function\n{rest}class Top: tall = 1\n")
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
    importer(world, "from up.top import Top\n", rest="import look\nlook.now()\n")
    session = world.session()
    world.module("look").write_text("def now(): ...\n")
    state, seen = session.states["p"], []
    load("look").now = lambda: seen.append((state.status, state.reason))  # type: ignore[attr-defined]
    session.arm(MAIN)
    load("up.top")
    reason = "waits for the end of the import of up.top, which its body needs"
    assert seen == [(ARMED, reason)]
    assert (state.status, state.reason) == (APPLIED, "")


def test_both_modules_of_a_row(world: World) -> None:
    """The one waits for the other, whose own changes are made at the same time."""
    changes = BASE, "Wrap('up.top:Top.method', by='by')"
    importer(world, "from up.top import Top\n", *changes)
    world.module(
        "up.top", "import up.base\nclass Top:\n    def method(self): return []\n"
    )
    world.session().arm(MAIN)
    top = load("up.top")
    assert (top.Top().method(), top.up.base.function()) == (["by"], ["by"])


def test_an_importer_that_fails(world: World) -> None:
    """Its error is what it was; the patch goes on waiting, and applies with the next import."""
    importer(
        world, "from up.top import Top\n", rest="import flag\nif flag.bad: 1 / 0\n"
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
    """A name that is not there when the importer is whole fails the patch, in its import."""
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
    """Those of the other module are of the body as it is now, and pickle by reference."""
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
        assert [one.__name__ for one in cls.__mro__] == [f"My{name}", name, "object"]
    other = "Top" if reloaded == "up.base" else "Base"
    assert getattr(load("up.user"), other) is getattr(body, f"My{other}")
    undo(session)
    assert [load("up.base").Base.__name__, load("up.top").Top.__name__] == [
        "Base",
        "Top",
    ]


def test_a_body_that_somebody_reloads(world: World) -> None:
    """What it had applied is of its new execution then, and of no layer twice."""
    importer(world, "from up.base import function\n")
    session = world.session()
    session.arm(MAIN)
    load("up.top")
    importlib.reload(load("pack.patch_a"))
    assert load("up.base").function() == load("up.top").function() == ["by"]
    assert load("pack.patch_a").function() == []
    undo(session)
    assert load("up.base").function() == load("up.top").function() == []
