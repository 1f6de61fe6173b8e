from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from support import packages
from support.one_patch import load
from support.programs import program

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
    assert {module.__name__: module for module in found}.keys() == {
        "up.llm",
        "pack.patch_a",
    }
    assert len(set(map(id, found))) == 2


@pytest.mark.processes
def test_another_thread_imports_the_body(world: World) -> None:
    """Whoever imports the module waits for it, and holds nothing that the body needs."""
    world.module("up.slow")
    a_world(world, body="import up.slow\n")
    code = program(__file__, "body_in_another_thread")
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
