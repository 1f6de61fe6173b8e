"""Only what came from the target goes with it, whoever else holds the same object."""

from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from patchkit import Role

from .bound import MAIN, WRAPS, load, reported_copies

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


@pytest.mark.parametrize("armed_late", [True, False])
def test_upstreams_own_function_as_the_replacement(
    world: World, armed_late: bool
) -> None:
    """A second row wraps the target, but not upstream's function that replaces it; undo leaves
    that function alone too.
    """
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
    modules = load("up.b", "up.a", "up.user") if armed_late else []
    values_before = [vars(module).copy() for module in modules]
    session.arm(MAIN)
    a, b, user = load("up.a", "up.b", "up.user")
    assert a.forward() == user.ours() == ("wrapped", "b")
    assert b.forward() == user.theirs() == "b"
    undo(session, ["one"])
    assert a.forward() == user.ours() == ("wrapped", "a")
    undo(session)
    assert a.forward() == user.ours() == "a"
    assert b.forward() == user.theirs() == "b"
    for module, values in zip(modules, values_before, strict=True):
        for name, value in values.items():
            assert vars(module)[name] is value, name


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
    assert a.C().forward() == "C"
    assert b.D().forward() == user.Sub().forward() == "D"


NEIGHBOUR = "from contextlib import nullcontext\nclass Kept:\n    made = nullcontext"


def test_a_standard_library_replacement_that_another_role_takes_back(
    world: World,
) -> None:
    """An engine core that takes a patch back leaves everybody's own `nullcontext` where it is."""
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
    library_function = neighbour.nullcontext
    assert mod.record is user.record is library_function
    session.become([Role.ENGINE_CORE])
    assert mod.record is user.record is not library_function
    assert neighbour.nullcontext is vars(neighbour.Kept)["made"] is library_function


# -- two targets, one object -----------------------------------------------------------------------

TWO_FUNCTIONS = "def f(): return 'f'\ndef g(): return 'g'"


STUB = "def n(): return 'stub'\n"


@pytest.mark.parametrize("armed_late", [True, False])
@pytest.mark.parametrize("order", ["fg", "gf"])
def test_two_targets_that_share_a_stub(
    world: World, armed_late: bool, order: str
) -> None:
    """Each copy gets back the original of its own target, those made meanwhile too."""
    world.module("up.mod", TWO_FUNCTIONS)
    world.module("up.user", "from up.mod import f, g as other\nclass A:\n    run = f")
    world.module("up.latecomer", "from up.mod import g, f as other")
    world.pack(
        row("f", "patch_a", "Replace('up.mod:f', by='n')"),
        row("g", "patch_a", "Replace('up.mod:g', by='n')"),
        patch_a=STUB,
    )
    session = world.session()
    if armed_late:
        load("up.mod", "up.user")
    session.arm(MAIN)
    mod, user, latecomer = load("up.mod", "up.user", "up.latecomer")
    assert user.f() == user.other() == latecomer.g() == latecomer.other() == "stub"
    for name in order:
        undo(session, [name])
        assert getattr(mod, name)() == name
    assert (user.f(), user.other(), user.A.run()) == ("f", "g", "f")
    assert (latecomer.other(), latecomer.g()) == ("f", "g")


def test_a_row_that_wraps_one_of_two_targets_with_one_stub(world: World) -> None:
    """The copies of the other target, which the same stub replaces, are not wrapped."""
    world.module("up.mod", TWO_FUNCTIONS)
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


@pytest.mark.parametrize("armed_late", [True, False])
def test_one_original_under_two_names(world: World, armed_late: bool) -> None:
    """Each name's copies follow the patches of that name, and not those of the other."""
    world.module("up.mod", "def f(): return 'f'\ng = f")
    world.module("up.user", "from up.mod import f, g")
    world.pack(
        row("f", "patch_a", "Replace('up.mod:f', by='n')"),
        row("g", "patch_a", "Replace('up.mod:g', by='m')"),
        patch_a=f"{STUB}def m(): return 'other'",
    )
    session = world.session()
    if armed_late:
        load("up.user")
    session.arm(MAIN)
    (user,) = load("up.user")
    assert (user.f(), user.g()) == ("stub", "other")
    undo(session, ["f"])
    assert (user.f(), user.g()) == ("f", "other")
    undo(session)
    assert (user.f(), user.g()) == ("f", "f")


@pytest.mark.parametrize("armed_late", [True, False])
def test_two_targets_that_are_copies_of_one(world: World, armed_late: bool) -> None:
    """The function that both copy stays as it is, and importers follow their own target."""
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
    if armed_late:
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


@pytest.mark.parametrize("armed_late", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_constant_that_others_hold(world: World, armed_late: bool, name: str) -> None:
    """Importers of the constant follow it; who has the same object from elsewhere does not."""
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
    module_names = ("up.types", "up.mod", "up.neighbours", "up.user")
    session = world.session()
    if armed_late:
        load(*module_names)
    session.arm(MAIN)
    types, mod, neighbours, user = load(*module_names)
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


def test_two_constants_of_one_module_that_are_one_object(world: World) -> None:
    """A copy of the patched constant follows it; another constant that is the same object stays."""
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
    original = mod.TWO
    session = world.session()
    session.arm(MAIN)
    assert mod.TWO is original
    assert mod.THREE is mod.ONE is not original
    undo(session)
    assert mod.ONE is mod.TWO is mod.THREE is original


# What `up.user` executes, and whether its name goes with the target; None if that is unknown.
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
@pytest.mark.parametrize("case", STARS)
def test_a_star_import(world: World, case: str) -> None:
    """A star import binds what the module exports; a name that is also bound otherwise is left and
    reported.
    """
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    world.module("up.hides", "__all__ = ['other']\nfrom up.a import kept\nother = 1")
    world.module(
        "up.hides_theirs", "__all__ = ('other',)\nfrom up.b import kept\nother = 1"
    )
    world.module("up.private", "from up.a import kept as _kept")
    source, goes = STARS[case]
    world.module("up.user", source)
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    code = "import up.user, patchkit.auto, json\nprint(json.dumps(up.user.kept == [1]))"
    assert world.answer(code) is bool(goes)
    expected = ["up.user:kept (origin unknown)"] if goes is None else []
    reported = [words for words in reported_copies(world) if "up.user" in words]
    assert reported == expected
