"""Two copies of patchkit in one process, as where a package brings its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import packages
from support.packages import REPOSITORY, World, row

pytestmark = pytest.mark.processes

world = packages.world

BY = "def by(w, i, a, k): return ['{0}', *w()]\ndef function(): return ['{0}']\n"
WRAP = "Wrap('up.mod:function', by='by')"
REPLACE = "Replace('up.mod:function', by='function')"
CODE = """
import json, os, sys
import patchkit.auto
import up.mod
before = up.mod.function()
os.environ["PATCHKIT_PATCHES"] = "second"
seen = []
try:
    import vended.auto
    second = vended.auto.session
except Exception as error:
    import vended.process
    seen = [type(error).__name__]
    second = vended.process.current()
state = second.states["second"]
seen += [before, up.mod.function(), state.status, state.reason]
print(json.dumps(seen))
"""


@pytest.fixture
def vended(world: World) -> World:
    """A world with a package that brings patchkit under another name."""
    for file in (REPOSITORY / "patchkit").rglob("*.py"):
        copy = world.folder / "vended" / file.relative_to(REPOSITORY / "patchkit")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(re.sub(r"\bpatchkit\b", "vended", file.read_text()))
    world.module("up.mod", "def function(): return []\n")
    return world


def apply_both(world: World, first: str, second: str, **environ: str) -> Any:
    """Apply a patch of each copy to one function; return what the program has seen, and stderr."""
    world.pack(row("first", "patch_a", first), patch_a=BY.format("first"))
    world.pack(
        row("second", "patch_b", second), name="second", patch_b=BY.format("second")
    )
    init = world.folder / "second" / "__init__.py"
    init.write_text(init.read_text().replace("from patchkit", "from vended"))
    (world.folder / "code.py").write_text(CODE)
    done = world.run("code.py", **environ)
    assert done.returncode in (0, 70), done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize("first", [WRAP, REPLACE])
def test_wraps_of_both_act(vended: World, first: str) -> None:
    """The second copy wraps what the first has put there, and warns that there is a first."""
    seen, stderr = apply_both(vended, first, WRAP)
    assert seen == [["first"], ["second", "first"], "applied", ""]
    assert "patches this process too: patchkit (" in stderr


@pytest.mark.parametrize("first", [WRAP, REPLACE])
def test_a_replace_discards_nothing_of_the_other_copy(
    vended: World, first: str
) -> None:
    """A replacement by the second copy fails with the names of both, and the first acts on."""
    seen, _ = apply_both(vended, first, REPLACE, PATCHKIT_ON_FAILURE="warn")
    assert seen[:3] == [["first"], ["first"], "failed"]
    assert "it would discard first of another copy" in seen[3]
    assert str(Path("patchkit") / "__init__.py") in seen[3]


def test_one_copy_alone_speaks_of_no_other(vended: World) -> None:
    """A copy that is installed but not imported is not warned of."""
    vended.pack(row("p", "patch_a", REPLACE), patch_a=BY.format("p"))
    done = vended.run("-c", "import patchkit.auto, up.mod; print(up.mod.function())")
    assert (done.stdout.strip(), done.stderr) == ("['p']", "")
