"""Which code leads a copy to its target: read from the source as Python executes it."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from support import packages
from support.packages import World, row
from support.undoing import undo

from patchkit import Role

from .bound import out_of_reach

world = packages.world
GOES = {
    "what never runs": """
if 0:
    from up.b import kept
else:
    from up.a import kept
""",
    "a lambda is the only function": "kept = up.a.kept\nlater = lambda: kept",
}
UNTOLD = {
    "a list of names": "[one, kept] = [1, up.a.kept]",
    "two values at once": "kept, one = up.a.kept, 1",
    "one of two": "kept = up.a.kept if up else None",
    "an assignment in an expression": "print(kept := up.a.kept)",
    "a function that declares it global": """
kept = None
def fill(one=None):
    global kept
    kept = up.a.kept
fill()
""",
    "a function in another": """
from up.a import kept as there
def outer(there):
    def fill():
        global kept
        kept = there
    fill()
outer(up.b.kept)
""",
}


def _user(world: World, code: str) -> Any:
    """Arm a patch of `up.a:kept` after the code ran in `up.user`; return session and module."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    world.module("up.user", f"import up.a, up.b\n{code}")
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    session = world.session()
    user = __import__("up.user").user
    session.arm(frozenset({Role.MAIN}))
    return session, user


@pytest.mark.parametrize("code", GOES.values(), ids=GOES)
def test_a_name_whose_code_leads_to_the_target(world: World, code: str) -> None:
    """The name is repointed with the target, and undo restores it."""
    session, user = _user(world, code)
    assert user.kept == [1]
    undo(session)
    assert user.kept is user.up.b.kept


@pytest.mark.processes
def test_a_source_that_python_warns_of(world: World) -> None:
    """Reading the source raises no warning that its compiler gave before: the name is repointed."""
    code = (
        "import up.user, warnings\nwarnings.simplefilter('error')\nimport patchkit.auto"
    )
    world.module("up.a", "kept = object()")
    world.module("up.user", "import up.a\nkept = up.a.kept\ntext = '\\d'")
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    assert world.answer(f"{code}\nimport json\nprint(json.dumps(up.user.kept))") == [1]


@pytest.mark.parametrize("code", UNTOLD.values(), ids=UNTOLD)
def test_a_name_that_other_code_binds(world: World, code: str) -> None:
    """A name that anything but a plain assignment or import binds is left and reported."""
    session, user = _user(world, code)
    assert user.kept is user.up.b.kept
    reported = session.journal.entries[-1]["out_of_reach"]
    assert "up.user:kept (origin unknown)" in reported


def test_a_private_name_of_a_class(world: World) -> None:
    """A class attribute `__kept`, whose name Python mangles, is left and reported."""
    session, user = _user(world, "class _C:\n    __kept = up.a.kept")
    assert vars(user._C)["_C__kept"] is user.up.b.kept
    (reported,) = session.journal.entries[-1]["out_of_reach"]
    assert reported == "up.user:_C._C__kept (origin unknown)"


@pytest.mark.processes
def test_the_variable_of_a_comprehension(world: World) -> None:
    """A comprehension's variable binds no name of the module: `kept` has one known origin."""
    world.module("up.base", "kept = object()")
    for name in "ab":
        world.module(f"up.{name}", "from up.base import kept")
    world.module(
        "up.user", "from up.b import kept\nall_of_them = [kept for kept in (1, 2)]"
    )
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    assert out_of_reach(world, "import up.user, up.a, patchkit.auto") == []


@pytest.mark.processes
def test_a_byte_order_mark_in_a_zip_file(world: World) -> None:
    """A copy is repointed although the loader returns its module's source with the mark in it."""
    world.module("up.a", "kept = object()")
    world.module("up.user", "\ufefffrom up.a import kept")
    world.pack(
        row("one", "patch_a", "Replace('up.a:kept', by='NEW')"), patch_a="NEW = [1]"
    )
    path = shutil.make_archive(str(world.folder / "all"), "zip", world.folder, "up")
    shutil.rmtree(world.folder / "up")
    code = (
        f"import sys\nsys.path.insert(0, {path!r})\nimport json, up.user, patchkit.auto"
    )
    assert world.answer(f"{code}\nprint(json.dumps(up.user.kept))") == [1]
