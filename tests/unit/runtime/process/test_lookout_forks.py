"""Forks while a process looks again, and a look that imports."""

from __future__ import annotations

import time

import pytest
from support import packages
from support.packages import World, row
from support.programs import program

from runtime.process import lookouts
from runtime.process.lookouts import BY, WRAP

pytestmark = pytest.mark.processes

world = packages.world
upstream = lookouts.upstream


LATE = """
import os, signal, sys, threading, time, types, patchkit.auto, up.mod, importlib._bootstrap as boot
import gate
def come():
    late = types.ModuleType("up.late")
    late.function = lambda: "old"
    sys.modules["up.late"] = up.late = late
    assert gate.began.wait(20)
def fork():
    if (pid := os.fork()) == 0:
        signal.alarm(10)  # kills who waits for a lock that nobody gives back
        import up.slow, pack.patch_b
        assert pack.patch_b.by
        os._exit(0)
    return os.waitpid(pid, 0)[1]
"""
WAYS_TO_FORK = {
    "outside": LATE + "come()\nprint(fork())\n",
    "within the import that it waits for": LATE
    + "gate.come, gate.fork = come, fork\nimport held\n",
}
HELD = """
import gate, importlib._bootstrap as boot, threading, time
gate.come()
gate.free.set()
(thread,) = [one.ident for one in threading.enumerate() if one.name == "patchkit-verify"]
end = time.monotonic() + 20
while not boot._blocking_on.get(thread) and time.monotonic() < end:
    time.sleep(0.01)
print(gate.fork())
"""
SLOW = """
import gate, time
gate.began.set()
if hasattr(gate, "come"):
    gate.free.wait(20)
    import held
else:
    time.sleep(1.5)  # as torch takes its time
"""


@pytest.mark.parametrize("way", WAYS_TO_FORK)
def test_no_child_waits_for_what_the_thread_was_importing(
    upstream: World, way: str
) -> None:
    """A fork waits for the thread's import, or the child imports the module anew."""
    upstream.module(
        "gate", "import threading\nbegan, free = threading.Event(), threading.Event()\n"
    )
    upstream.module("held", HELD)
    upstream.module("up.slow", SLOW)
    rows = (
        row("p", "patch_a", WRAP),
        row("late", "patch_b", "Wrap('up.late:function', by='by')"),
    )
    upstream.pack(*rows, patch_a=BY, patch_b="import up.slow\n" + BY)
    done = upstream.run("-c", WAYS_TO_FORK[way], PATCHKIT_VERIFY="0.05")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


TWO_FORKS = program(__file__, "two_forks")


def test_children_of_two_threads_look(upstream: World) -> None:
    """Of two forks at once, both children and their parent look again."""
    done = upstream.run("-c", TWO_FORKS, PATCHKIT_VERIFY="0.05")
    assert (done.returncode, done.stdout) == (0, "[0, 0]\n"), done.stderr


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "os._exit(4)", "os.kill(os.getpid(), 15)"]
)
def test_a_process_ends_as_it_would_without_the_verifier(
    upstream: World, end: str
) -> None:
    """A process that ends at any moment keeps its exit code or signal, and stderr is empty."""
    code = f"import os, sys, patchkit.auto, up.mod\n{end}"
    codes = {"": 0, "sys.exit(3)": 3, "os._exit(4)": 4}
    for _ in range(5):
        began = time.monotonic()
        done = upstream.run("-c", code, PATCHKIT_VERIFY="0.0001")
        assert (done.returncode, done.stderr) == (codes.get(end, -15), "")
        assert time.monotonic() - began < 15
