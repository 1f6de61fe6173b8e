from __future__ import annotations

import pytest
from support import blocks, packages
from support.blocks import BODY, UPSTREAM
from support.packages import World, row

pytestmark = pytest.mark.processes

world, upstream = packages.world, blocks.upstream


def test_a_forked_child_has_what_its_parent_had(world: World) -> None:
    """It lets go of it by itself, and the parent is not touched."""
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
    """Each thread's own patch comes and goes; one session, and nothing is left."""
    rows = [row(f"p{n}", "patch_a", f"Wrap('up.mod:f{n}', by='by')") for n in range(4)]
    world.module("up.mod", UPSTREAM + "".join(f"def f{n}(): return {n}\n" for n in range(4)))
    world.pack(*rows, patch_a=BODY)
    code = """
import json, sys, threading, up.mod
sys.setswitchinterval(1e-6)
from patchkit import applied
from patchkit.runtime.reach import arming
before, wrong, barrier = list(sys.meta_path), [], threading.Barrier(4)
def work(number):
    barrier.wait(10)
    for _ in range(20):
        with applied(f"p{number}"):
            if getattr(up.mod, f"f{number}")() != ("by", number): wrong.append(number)
        if getattr(up.mod, f"f{number}")() != number: wrong.append(number)
threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
left = [thread.is_alive() for thread in threads]
print(json.dumps([wrong, any(left), sys.meta_path == before, arming._here.session is None]))
"""
    assert world.answer(code) == [[], False, True, True]


def test_another_thread_imports_the_body(world: World) -> None:
    """A block does not begin before its patches are applied, whoever is loading their body."""
    code = """
import json, sys, threading, up.mod
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import applied
from patchkit.runtime.reach import arming
begun, tried = threading.Event(), threading.Event()
class Slow(SourceFileLoader):
    def exec_module(self, module):
        begun.set()
        tried.wait(0.3)  # in vain, as the block waits for this very import
        super().exec_module(module)
class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec
sys.meta_path.insert(0, Slowing())
with applied("llm"):  # so that importing a body does not arm the process
    other = threading.Thread(target=__import__, args=("pack.patch_a",), daemon=True)
    other.start()
    begun.wait(10)
    try:
        with applied("p"): seen = up.mod.function()
    except Exception as error:
        seen = str(error)
    tried.set()
    other.join(10)
print(json.dumps([seen, up.mod.function()]))
"""
    assert world.answer(code) == [["by", "old"], "old"]
