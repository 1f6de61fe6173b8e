from __future__ import annotations

from typing import Any

import pytest
from support import blocks, packages
from support.blocks import BODY
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world
upstream = blocks.upstream


ARMED = """
import json, sys
import {first}patchkit
from patchkit import Role, applied
from patchkit.runtime.reach.arming import arm, current
session = arm(frozenset({{Role.MAIN}}))
seen = []
def see():
    import up.mod
    states = {{name: state.status for name, state in session.states.items() if name in {names}}}
    seen.append([up.mod.function(), states])
{code}
print(json.dumps(seen))
"""


def armed(world: World, code: str, *names: str, first: str = "", **environ: str) -> Any:
    """Run code in a process that is armed as main; returns what `see()` saw."""
    text = ARMED.format(code=code, names=repr(set(names)), first=first)
    rows = (world.folder / "pack" / "__init__.py").read_text()
    unwanted = [
        name for name in ("broken", "optional", "early", "elsewhere") if name in rows
    ]
    environ.setdefault("PATCHKIT_DISABLE", ",".join(unwanted))
    return world.answer(text, **environ)


def test_what_was_applied_stays_applied(world: World) -> None:
    """A patch that the process has applied stays the same within its block and after it."""
    world.pack(row("p", "patch_a", "Wrap('up.mod:function', by='by')"), patch_a=BODY)
    code = """
see()
with applied("p"): see()
see()
"""
    assert armed(world, code, "p") == [[["by", "old"], {"p": "applied"}]] * 3


def test_what_was_armed_is_as_if_there_had_been_no_block(world: World) -> None:
    """After a block, another role's patch is armed again; this role's stays applied."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')", roles="{Role.WORKER}"),
        patch_a=BODY,
    )
    code = """
with applied("p"), applied("q"), applied("q"): see()
see()
session.enter(Role.WORKER)
see()
"""
    assert armed(world, code, "p", "q") == [
        [["two", ["by", "old"]], {"p": "applied", "q": "applied"}],
        [["by", "old"], {"p": "applied", "q": "armed"}],
        [["two", ["by", "old"]], {"p": "applied", "q": "applied"}],
    ]


def test_what_was_skipped_may_be_for_here_by_now(world: World) -> None:
    """A block asks the environment again for a skipped patch, which is skipped again after it."""
    code = """
import os
world = session.states["env"]
session.enter(Role.MAIN)
see()
try: applied("env").__enter__()
except Exception as error: seen.append(str(error))
os.environ["ACME_FLAG"] = "1"
with applied("env"): see()
see()
"""
    skipped = ["old", {"env": "skipped"}]
    held = [["two", "old"], {"env": "applied"}]
    refusal = "patch env does not apply here: ACME_FLAG is not set"
    assert armed(world, code, "env") == [skipped, refusal, held, skipped]


def test_a_failure_in_a_block_does_not_stop_the_process_later(world: World) -> None:
    """A patch of another role that failed in a test is armed again for its own."""
    world.pack(
        row("p", "patch_a", "Replace('up.mod:gone', by='by')", roles="{Role.WORKER}"),
        patch_a=BODY,
    )
    code = """
try: applied("p").__enter__()
except Exception as error: seen.append(type(error).__name__)
see()
session.stop_if_failed()
"""
    assert armed(world, code, "p") == ["ApplyError", ["old", {"p": "armed"}]]


def test_rows_of_a_blocks_packs_in_an_armed_process(world: World) -> None:
    """Rows of a block's packs are gone after it; a role that is entered meanwhile applies none."""
    world.pack(
        row("o", "patch_o", "Wrap('up.mod:function', by='by')"),
        row("o2", "patch_o", "Wrap('up.mod:function', by='two')"),
        name="other",
        patch_o=BODY,
    )
    code = """
with applied("o", packs="other"):
    session.enter(Role.WORKER)
    see()
see()
"""
    assert armed(world, code, "o", "o2", PATCHKIT_PATCHES="", PATCHKIT_DISABLE="") == [
        [["by", "old"], {"o": "applied", "o2": "armed"}],
        ["old", {}],
    ]


def test_a_process_that_is_armed_within_a_block(world: World) -> None:
    """A process that is armed within a block has one session, and applies no patch twice."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_a", "Wrap('up.mod:function', by='two')", roles="{Role.WORKER}"),
        row("r", "patch_a", "Wrap('up.mod:Thing.method', by='two')"),
        patch_a=BODY,
    )
    code = """
import json, sys
from patchkit import applied
from patchkit.runtime.imports.finder import Finder
seen = []
def see():
    import up.mod
    finders = [type(one).__name__ for one in sys.meta_path if type(one) is Finder]
    seen.append([up.mod.function(), up.mod.Thing().method(), finders])
with applied("p", "q"):
    see()
    import patchkit.runtime.reach.vllm_plugin
    patchkit.runtime.reach.vllm_plugin.general()
    see()
see()
with applied("q"): see()
print(json.dumps(seen))
"""
    assert world.answer(code) == [
        [["two", ["by", "old"]], "old", ["Finder"]],
        [["two", ["by", "old"]], ["two", "old"], ["Finder"]],
        [["by", "old"], ["two", "old"], ["Finder"]],
        [["two", ["by", "old"]], ["two", "old"], ["Finder"]],
    ]


def test_a_body_arms_the_process_again_after_a_block(world: World) -> None:
    """A body that is imported after a block arms the process; one that a block loads does not."""
    world.pack(
        row("p", "patch_a", "Wrap('up.mod:function', by='by')"),
        row("q", "patch_b", "Wrap('up.mod:function', by='by')"),
        patch_a=BODY,
        patch_b=BODY,
    )
    code = """
import json
from patchkit import applied
from patchkit.runtime.reach import arming
seen = []
with applied("p"): seen.append(arming.current() is None)
seen.append(arming.current() is None)
import pack.patch_b
seen.append(arming.current() is None)
print(json.dumps(seen))
"""
    assert world.answer(code) == [True, True, False]
