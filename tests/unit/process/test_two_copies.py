"""Two copies of patchkit in one process, as where a package brings its own."""

from __future__ import annotations

import re

import packages
import pytest
from packages import REPOSITORY, World, row

pytestmark = pytest.mark.processes

world = packages.world

BY = "def by(w, i, a, k): return ['{0}', *w()]\ndef function(): return ['{0}']\n"
WRAP = "Wrap('up.mod:function', by='by')"
REPLACE = "Replace('up.mod:function', by='function')"
CODE = """
import os
import patchkit.auto
import up.mod
before = up.mod.function()
os.environ["PATCHKIT_PATCHES"] = "second"
import vended.auto
print(before, up.mod.function(), vended.auto.session.states["second"].status)
try:
    patchkit.auto.session.stop_if_failed()
except patchkit.errors.ApplyError as error:
    print(error)
"""


@pytest.fixture
def vended(world: World) -> World:
    """A package that brings patchkit under another name, and a pack for each copy."""
    for file in (REPOSITORY / "patchkit").rglob("*.py"):
        copy = world.folder / "vended" / file.relative_to(REPOSITORY / "patchkit")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"\bpatchkit\b", "vended", file.read_text()))
    world.module("up.mod", "def function(): return []\n")
    return world


def both(world: World, first: str, second: str) -> tuple[str, str]:
    """Apply a patch of each copy to one function; return what is so, and what the first says."""
    world.pack(row("first", "patch_a", first), patch_a=BY.format("first"))
    world.pack(row("second", "patch_b", second), name="second", patch_b=BY.format("second"))
    init = world.folder / "second" / "__init__.py"
    init.write_text(init.read_text().replace("from patchkit", "from vended"))
    (world.folder / "code.py").write_text(CODE)
    seen, _, said = world.run("code.py").stdout.partition("\n")
    return seen, said


@pytest.mark.parametrize("first", [WRAP, REPLACE])
def test_wraps_of_both_act(vended: World, first: str) -> None:
    """What the first has put there is wrapped by the second."""
    assert both(vended, first, WRAP) == ("['first'] ['second', 'first'] applied", "")


@pytest.mark.parametrize("first", [WRAP, REPLACE])
def test_what_a_replace_discards_is_told(vended: World, first: str) -> None:
    """The first finds its change gone, as with any other tool."""
    seen, said = both(vended, first, REPLACE)
    assert seen == "['first'] ['second'] applied"
    assert "up.mod:function was overwritten by second.patch_b.function" in said
