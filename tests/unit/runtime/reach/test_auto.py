from __future__ import annotations

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world


def a_world(world: World, body: str = "def by(w, i, a, k): return ('by', w())") -> None:
    """Write an upstream with one function, and a pack that wraps it by this body."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=body)


def test_importing_auto_arms_the_process(world: World) -> None:
    """Importing `patchkit.auto` arms the process, with the session that it names."""
    a_world(world)
    code = """
import json, patchkit.auto, up.mod
from patchkit.runtime.reach import arming
print(json.dumps([up.mod.function(), patchkit.auto.session is arming.current()]))
"""
    assert world.answer(code) == [["by", "old"], True]


HEAVY = {
    "ast",
    "dataclasses",
    "dis",
    "importlib.metadata",
    "inspect",
    "linecache",
    "packaging",
}
HEAVY |= {"pathlib", "textwrap", "tokenize", "traceback"}
KINDS = (  # of change, but for Provide
    "Replace('up.mod:a', by='by')",
    "Wrap('up.mod:b', by='by')",
    "Edit('up.mod:c', old='1', new='2')",
    "Add('up.mod:d', by='by')",
    "AddField('up.mod:E', name='f', type='int', default=0)",
    "BeforeImport('up.mod', call='by')",
    "AfterImport('up.mod', call='by')",
)


def test_importing_auto_loads_no_heavy_module(world: World) -> None:
    """Importing `patchkit.auto` loads no module that costs as much as patchkit.

    Only for a row with Provide does it ask for a version at once, by `packaging`.
    """
    world.pack(row("p", "patch_a", *KINDS), patch_a="")
    file = world.folder / "pack" / "__init__.py"
    file.write_text(file.read_text().replace(", applied", ""))  # which is for tests
    code = """
import json, sys
before = set(sys.modules)
import patchkit.auto
print(json.dumps([list(patchkit.auto.session.states), list(set(sys.modules) - before)]))
"""
    states, brought = world.answer(code)
    assert "p" in states
    assert HEAVY.isdisjoint(brought)


def test_a_target_that_was_imported_before_auto_is_patched(world: World) -> None:
    """A target that was imported before `patchkit.auto` is patched all the same."""
    a_world(world)
    code = "import json, up.mod, patchkit.auto\nprint(json.dumps(up.mod.function()))"
    assert world.answer(code) == ["by", "old"]


def test_a_failure_stops_a_script(world: World) -> None:
    """A script that imports `patchkit.auto` does not get past the patch that failed."""
    a_world(world, body="raise ValueError('broken body')")
    done = world.run("-c", "import patchkit.auto, up.mod\nprint('went on')")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "broken body" in done.stderr


def test_a_failure_may_be_a_warning(world: World) -> None:
    """PATCHKIT_ON_FAILURE=warn: one line on stderr, and the script goes on."""
    a_world(world, body="raise ValueError('broken body')")
    code = "import patchkit.auto, up.mod\nprint(up.mod.function())"
    done = world.run("-c", code, PATCHKIT_ON_FAILURE="warn")
    assert (done.returncode, done.stdout) == (0, "old\n")
    assert len(done.stderr.splitlines()) == 1
    assert "warning: patch p failed: ValueError: broken body" in done.stderr


def test_an_import_at_exit_prints_no_error(world: World) -> None:
    """A target that is imported by a thread, or while Python shuts down, prints no error."""
    a_world(world)
    code = """
import atexit, threading, patchkit.auto
atexit.register(lambda: __import__("up.mod"))
threading.Thread(target=lambda: __import__("up.mod")).start()
"""
    done = world.run("-c", code)
    assert (done.returncode, done.stderr) == (0, "")
