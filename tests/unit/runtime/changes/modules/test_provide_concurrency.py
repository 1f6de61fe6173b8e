from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from support import packages
from support.one_patch import load
from support.programs import program

from runtime.changes.modules.providing import a_world, armed

if TYPE_CHECKING:
    from support.packages import World

world = packages.world


def test_threads_get_one_module(world: World) -> None:
    """Threads that import the module and its body at once get one of each, without a deadlock."""
    armed(world, body="import time\nEXECUTED = [1]\ntime.sleep(0.05)\n")
    barrier = threading.Barrier(6)
    modules: list[Any] = []

    def work(number: int) -> None:
        barrier.wait(10)
        if number % 2:
            load("up.llm")
            modules.append(load("up.llm"))
        else:
            modules.append(load("pack.patch_a"))

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(modules) == 6
    assert {module.__name__ for module in modules} == {"up.llm", "pack.patch_a"}
    assert len({id(module) for module in modules}) == 2


@pytest.mark.processes
def test_another_thread_imports_the_module_during_the_bodys_import(
    world: World,
) -> None:
    """It waits until the body is imported, without a deadlock, and gets the body's objects."""
    world.module("up.slow")
    a_world(world, body="import up.slow\n")
    code = program(__file__, "body_in_another_thread")
    assert world.answer(code) == [False, True]


@pytest.mark.processes
def test_a_spawned_child_serves_the_module(world: World) -> None:
    """A child serves the module itself; a class of it that comes by pickle is the child's own."""
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
