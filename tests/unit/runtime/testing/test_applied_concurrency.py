from __future__ import annotations

import pytest
from support import blocks, packages
from support.blocks import BODY, UPSTREAM
from support.packages import World, row
from support.programs import program

pytestmark = pytest.mark.processes

world = packages.world
upstream = blocks.upstream


def test_a_forked_child_has_what_its_parent_had(world: World) -> None:
    """A child that is forked within a block has its patches, and does not change the parent's."""
    code = """
import json, os, up.mod
from patchkit import applied
read, write = os.pipe()
with applied("p"):
    if os.fork() == 0:
        try:
            first = up.mod.function()
            with applied("q"): second = up.mod.Thing().method()
            os.write(write, json.dumps([first, second]).encode())
        finally:
            os._exit(0)
    os.wait()
    print(json.dumps([json.loads(os.read(read, 100)), up.mod.function()]))
"""
    assert world.answer(code) == [[["by", "old"], ["two", "old"]], ["by", "old"]]


def test_blocks_in_threads(world: World) -> None:
    """Each thread's block applies and undoes its own patch; no finder and no session is left."""
    rows = [row(f"p{n}", "patch_a", f"Wrap('up.mod:f{n}', by='by')") for n in range(4)]
    functions = [f"def f{n}(): return {n}\n" for n in range(4)]
    world.module("up.mod", UPSTREAM + "".join(functions))
    world.pack(*rows, patch_a=BODY)
    code = program(__file__, "blocks_in_threads")
    assert world.answer(code) == [[], False, True, True]


def test_another_thread_imports_the_body(world: World) -> None:
    """A block does not begin before its patches are applied, whoever is loading their body."""
    code = program(__file__, "body_in_another_thread")
    assert world.answer(code) == [["by", "old"], "old"]
