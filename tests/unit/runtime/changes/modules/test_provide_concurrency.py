from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import load

from runtime.changes.modules.providing import a_world, armed

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


def test_threads_get_one_module(world: World) -> None:
    """The body is loaded once, whoever comes first, and nobody waits for ever."""
    armed(world, body="import time\nEXECUTED = [1]\ntime.sleep(0.05)\n")
    barrier, found = threading.Barrier(6), []

    def work(number: int) -> None:
        barrier.wait(10)
        module = load("up.llm" if number % 2 else "pack.patch_a")
        found.append(load("up.llm") if number % 2 else module)

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(found) == 6
    assert {module.__name__: module for module in found}.keys() == {"up.llm", "pack.patch_a"}
    assert len(set(map(id, found))) == 2


@pytest.mark.processes
def test_another_thread_imports_the_body(world: World) -> None:
    """Whoever imports the module waits for it, and holds nothing that the body needs."""
    world.module("up.slow")
    a_world(world, body="import up.slow\n")
    code = """
import json, sys, threading
from importlib.machinery import PathFinder, SourceFileLoader
from patchkit import Role
from patchkit.runtime.reach.arming import arm
session = arm(frozenset({Role.MAIN}))
group, pause = session.states["p"].groups[0], threading.Event()
class Slow(SourceFileLoader):  # until the other thread waits for this one
    def exec_module(self, module):
        user.start()
        while not group.loads: pause.wait(0.001)
        super().exec_module(module)
class Slowing:
    def find_spec(self, name, path, target=None):
        if name == "pack.patch_a":
            spec = PathFinder.find_spec(name, path)
            spec.loader = Slow(name, spec.origin)
            return spec
sys.meta_path.insert(0, Slowing())
user = threading.Thread(target=__import__, args=("up.llm",), daemon=True)
import pack.patch_a
user.join(10)
print(json.dumps([user.is_alive(), sys.modules["up.llm"].Processor is pack.patch_a.Processor]))
"""
    assert world.answer(code) == [False, True]


@pytest.mark.processes
def test_in_a_spawned_child(world: World) -> None:
    """A child serves the module itself, and an object of it that comes by pickle is the same."""
    a_world(world)
    code = """
import json, multiprocessing, sys
import patchkit.auto
def work(queue, kind):
    import up.llm
    queue.put([kind is up.llm.Processor, up.llm.build().run()])
if __name__ == "__main__":
    import up.llm
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=work, args=(queue, up.llm.Processor))
    child.start()
    print(json.dumps(queue.get(timeout=20)))
    child.join()
"""
    assert world.script(code) == [True, "run"]
