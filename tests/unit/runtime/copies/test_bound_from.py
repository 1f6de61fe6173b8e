"""Only what came from the target goes with it, whoever else holds the same object."""

from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from patchkit import Role

from .bound import MAIN, WRAPS, load

world = packages.world


# -- the replacement is somebody else's ------------------------------------------------------------

SOMEBODY = """
def forward(): return 'b'
class D:
    def forward(self): return 'D'
"""


TARGET = """
def forward(): return 'a'
class C:
    def forward(self): return 'C'
"""


@pytest.mark.parametrize("late", [True, False])
def test_upstreams_own_function_as_the_replacement(world: World, late: bool) -> None:
    """A second row wraps the target, and not what took its place; undo leaves that alone too."""
    world.module("up.b", SOMEBODY)
    world.module("up.a", TARGET)
    world.module(
        "up.user",
        "from up.a import forward as ours\nfrom up.b import forward as theirs",
    )
    world.pack(
        row("one", "patch_a", "Replace('up.a:forward', by='forward')"),
        row("two", "patch_a", "Wrap('up.a:forward', by='around')"),
        patch_a=f"from up.b import forward\n{WRAPS}",
    )
    session = world.session()
    modules = load("up.b") if late else []
    modules += load("up.a", "up.user") if late else []
    originals = [vars(module).copy() for module in modules]
    session.arm(MAIN)
    a, b, user = load("up.a", "up.b", "up.user")
    assert a.forward() == user.ours() == ("wrapped", "b")
    assert b.forward() == user.theirs() == "b"
    undo(session, ["one"])
    assert a.forward() == user.ours() == ("wrapped", "a")
    undo(session)
    assert (a.forward(), user.ours(), b.forward(), user.theirs()) == (
        "a",
        "a",
        "b",
        "b",
    )
    for module, names in zip(modules, originals, strict=True):
        assert all(vars(module)[name] is value for name, value in names.items())


def test_a_method_of_another_class_as_the_replacement(world: World) -> None:
    """`C.forward` becomes `D.forward`; what wraps the first is not on the second."""
    world.module("up.b", SOMEBODY)
    world.module("up.a", TARGET)
    world.module("up.user", "from up.b import D\nclass Sub:\n    forward = D.forward")
    world.pack(
        row("one", "patch_a", "Replace('up.a:C.forward', by='D.forward')"),
        row("two", "patch_a", "Wrap('up.a:C.forward', by='around')"),
        patch_a=f"from up.b import D\n{WRAPS}",
    )
    a, b, user = load("up.a", "up.b", "up.user")
    session = world.session()
    session.arm(MAIN)
    assert a.C().forward() == ("wrapped", "D")
    assert b.D().forward() == user.Sub().forward() == "D"
    undo(session)
    assert (a.C().forward(), b.D().forward(), user.Sub().forward()) == ("C", "D", "D")


NEIGHBOUR = "from contextlib import nullcontext\nclass Kept:\n    made = nullcontext"


def test_the_standard_librarys_own_in_a_child_of_another_role(world: World) -> None:
    """What a forked engine core takes back leaves everybody's `nullcontext` where it is."""
    world.module("up.mod", "def record(name): return name")
    world.module("up.user", "from up.mod import record")
    world.module("up.neighbour", NEIGHBOUR)
    world.pack(
        row(
            "one",
            "patch_a",
            "Replace('up.mod:record', by='nullcontext', unrelated=True)",
        ),
        patch_a="from contextlib import nullcontext",
    )
    session = world.session()
    session.arm(MAIN)
    mod, user, neighbour = load("up.mod", "up.user", "up.neighbour")
    theirs = neighbour.nullcontext
    assert mod.record is user.record is theirs
    session.become([Role.ENGINE_CORE])
    assert mod.record is user.record is not theirs
    assert neighbour.nullcontext is vars(neighbour.Kept)["made"] is theirs


# -- two targets, one object -----------------------------------------------------------------------

TWO = "def f(): return 'f'\ndef g(): return 'g'"


STUB = "def n(): return 'stub'\n"


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("order", ["fg", "gf"])
def test_two_targets_that_share_a_stub(world: World, late: bool, order: str) -> None:
    """Each copy gets back the original of its own target, those made meanwhile too."""
    world.module("up.mod", TWO)
    world.module("up.user", "from up.mod import f, g as other\nclass A:\n    run = f")
    world.module("up.latecomer", "from up.mod import g, f as other")
    world.pack(
        row("f", "patch_a", "Replace('up.mod:f', by='n')"),
        row("g", "patch_a", "Replace('up.mod:g', by='n')"),
        patch_a=STUB,
    )
    session = world.session()
    if late:
        load("up.mod", "up.user")
    session.arm(MAIN)
    mod, user, latecomer = load("up.mod", "up.user", "up.latecomer")
    assert user.f() == user.other() == latecomer.g() == latecomer.other() == "stub"
    for name in order:
        undo(session, [name])
        assert getattr(mod, name)() == name
    assert (user.f(), user.other(), user.A.run()) == ("f", "g", "f")
    assert (latecomer.other(), latecomer.g()) == ("f", "g")


def test_a_row_that_wraps_one_of_them(world: World) -> None:
    """The other one's copies stay stubs."""
    world.module("up.mod", TWO)
    world.module("up.user", "from up.mod import f, g")
    world.pack(
        row(
            "stubs",
            "patch_a",
            "Replace('up.mod:f', by='n'), Replace('up.mod:g', by='n')",
        ),
        row("wrap", "patch_a", "Wrap('up.mod:f', by='around')"),
        patch_a=STUB + WRAPS,
    )
    (user,) = load("up.user")
    session = world.session()
    session.arm(MAIN)
    assert (user.f(), user.g()) == (("wrapped", "stub"), "stub")
    undo(session, ["wrap"])
    assert (user.f(), user.g()) == ("stub", "stub")


@pytest.mark.parametrize("late", [True, False])
def test_one_original_under_two_names(world: World, late: bool) -> None:
    """Each name's copies follow that name."""
    world.module("up.mod", "def f(): return 'f'\ng = f")
    world.module("up.user", "from up.mod import f, g")
    world.pack(
        row("f", "patch_a", "Replace('up.mod:f', by='n')"),
        row("g", "patch_a", "Replace('up.mod:g', by='m')"),
        patch_a=f"{STUB}def m(): return 'other'",
    )
    session = world.session()
    if late:
        load("up.user")
    session.arm(MAIN)
    (user,) = load("up.user")
    assert (user.f(), user.g()) == ("stub", "other")
    undo(session, ["f"])
    assert (user.f(), user.g()) == ("f", "other")
    undo(session)
    assert (user.f(), user.g()) == ("f", "f")


@pytest.mark.parametrize("late", [True, False])
def test_two_targets_that_are_copies_of_one(world: World, late: bool) -> None:
    """What they were copied from stays as it is, and each has followers of its own."""
    world.module("up.a", "def f(): return 'f'")
    for name in "bc":
        world.module(f"up.{name}", "from up.a import f")
        world.module(f"up.{name}_user", f"from up.{name} import f")
    world.pack(
        row("b", "patch_a", "Replace('up.b:f', by='n')"),
        row("c", "patch_a", "Replace('up.c:f', by='m')"),
        patch_a=f"{STUB}def m(): return 'other'",
    )
    session = world.session()
    names = ("up.a", "up.b", "up.b_user", "up.c", "up.c_user")
    if late:
        load(*names)
    session.arm(MAIN)
    modules = load(*names)
    assert [module.f() for module in modules] == ["f", "stub", "stub", "other", "other"]
    undo(session)
    assert {module.f() for module in modules} == {"f"}
    assert [state.status for state in session.states.values()] == ["skipped", "skipped"]


# -- shared singletons -----------------------------------------------------------------------------

SINGLETONS = """
import enum, logging, re, up.types
class Color(enum.Enum):
    RED = 1
CHOSEN, COLOR, LOGGER = up.types.uint8, Color.RED, logging.getLogger('up')
PATTERN, DOTS, MADE = re.compile('a+'), ..., object()
"""


NEIGHBOURS = """
import re, logging, up.types
from up.types import uint8
from up.mod import Color
ALSO, COLOR, LOGGER = uint8, Color.RED, logging.getLogger('up')
PATTERN, DOTS = re.compile('a+'), ...
class Kept:
    chosen, color, dots = up.types.uint8, Color.RED, ...
    pattern = re.compile('a+')
    table = {'chosen': uint8}
"""
NAMES = ("CHOSEN", "COLOR", "LOGGER", "PATTERN", "DOTS", "MADE")


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_constant_that_others_hold(world: World, late: bool, name: str) -> None:
    """Its own importers follow, whoever names the object otherwise does not."""
    world.module("up.types", "class Type: ...\nuint8 = Type()")
    world.module("up.mod", SINGLETONS)
    world.module("up.neighbours", NEIGHBOURS)
    world.module(
        "up.user",
        f"from up.mod import {name} as kept\nimport up.mod as m\nagain = m.{name}",
    )
    world.pack(
        row("one", "patch_a", f"Replace('up.mod:{name}', by='NEW')"),
        patch_a="NEW = [1]",
    )
    everybody = ("up.types", "up.mod", "up.neighbours", "up.user")
    session = world.session()
    if late:
        load(*everybody)
    session.arm(MAIN)
    types, mod, neighbours, user = load(*everybody)
    new = vars(mod)[name]
    assert new == [1]
    assert user.kept is user.again is new
    others = [
        *vars(types).values(),
        *vars(neighbours).values(),
        *vars(neighbours.Kept).values(),
    ]
    others += [value for key, value in vars(mod).items() if key != name]
    assert not any(value is new for value in others)
    undo(session)
    assert user.kept is user.again is vars(mod)[name] is not new


def test_a_constant_among_its_neighbours(world: World) -> None:
    """Two names of one module for one type are two constants."""
    world.module("up.types", "uint8 = object()")
    world.module(
        "up.mod",
        "import up.types\nONE = up.types.uint8\nTWO = up.types.uint8\nTHREE = ONE",
    )
    world.pack(
        row("one", "patch_a", "Replace('up.mod:ONE', by='NEW')"),
        patch_a="NEW = object()",
    )
    (mod,) = load("up.mod")
    two = mod.TWO
    session = world.session()
    session.arm(MAIN)
    assert mod.TWO is two
    assert mod.THREE is mod.ONE is not two
    undo(session)
    assert mod.ONE is mod.TWO is mod.THREE is two


STARS = {
    "theirs": ("from up.b import *\nfrom up.hides import *", False),
    "ours": ("from up.a import *\nfrom up.hides_theirs import *", True),
    "private": (
        "from up.b import kept as _kept\nfrom up.private import *\nkept = _kept",
        False,
    ),
    "both": ("from up.b import kept\nfrom up.a import *", None),
    "first": ("from up.a import kept\nfrom up.b import *", None),
}


@pytest.mark.processes
@pytest.mark.parametrize("user", STARS)
def test_a_star_import(world: World, user: str) -> None:
    """It brings what the module exports; which of two bindings was the last, nobody can tell."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    world.module("up.hides", "__all__ = ['other']\nfrom up.a import kept\nother = 1")
    world.module(
        "up.hides_theirs", "__all__ = ('other',)\nfrom up.b import kept\nother = 1"
    )
    world.module("up.private", "from up.a import kept as _kept")
    code, goes = STARS[user]
    world.module("up.user", code)
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    went = "import up.user, patchkit.auto, json\nprint(json.dumps(up.user.kept == [1]))"
    assert world.answer(went) is bool(goes)
    told = [one for line in world.entries() for one in line.get("out_of_reach", ())]
    assert [one for one in told if "up.user" in one] == (
        ["up.user:kept (origin unknown)"] if goes is None else []
    )
