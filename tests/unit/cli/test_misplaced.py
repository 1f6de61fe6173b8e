"""Real processes, forked and spawned, with a patch for the wrong role and with good ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import packages
from support.packages import row

from cli.journaled import answered

if TYPE_CHECKING:
    from support.packages import World

pytestmark = pytest.mark.processes

world = packages.world

SCRIPT = """
import multiprocessing, sys
import patchkit.auto

METHOD, MAIN, WORKER = sys.argv[1:]

def do(what):
    if what != "nothing":
        import up.mod
    if what == "calls":
        assert up.mod.function()
    if what == "looks up":
        assert up.mod.look_up()
    if what == "looks up another":
        assert up.mod.look_up("b")

def worker():
    do(WORKER)

def core():
    run(worker, "VllmWorker-0")

def run(target, name):
    process = multiprocessing.get_context(METHOD).Process(target=target, name=name)
    process.start()
    process.join()
    assert process.exitcode == 0

if __name__ == "__main__":
    do(MAIN)
    run(core, "EngineCore")
"""
UP = """
TABLE = {"a": "up.mod.Old", "b": "up.mod.Other"}
def function(): return "old"
class Old:
    def run(self): return "old"
class Other(Old):
    def run(self): return "other"
def look_up(key="a"):
    cls = TABLE[key]
    return globals()[cls.rpartition(".")[2]]().run() if type(cls) is str else cls
"""
BODY = """
class NEW:
    pass
def by(wrapped, instance, args, kwargs): return wrapped(*args, **kwargs)
"""
WRAP = "Wrap('up.mod:function', by='by')"
ITEM = "Replace('up.mod:TABLE[\"a\"]', by='NEW')"


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize(
    ("change", "role", "in_main", "in_worker", "is_misplaced"),
    [
        (WRAP, "MAIN", "nothing", "imports", True),
        (WRAP, "MAIN", "nothing", "calls", True),
        (WRAP, "MAIN", "imports", "calls", True),
        (ITEM, "MAIN", "imports", "looks up", True),
        (WRAP, "WORKER", "calls", "nothing", True),
        (WRAP, "MAIN", "calls", "calls", False),
        (WRAP, "MAIN", "imports", "imports", False),
        (WRAP, "MAIN", "imports", "looks up", False),
        (WRAP, "MAIN", "nothing", "nothing", False),
        (WRAP, "WORKER", "imports", "calls", False),
        (WRAP, "WORKER", "nothing", "imports", False),
        (ITEM, "WORKER", "imports", "looks up", False),
        (ITEM, "WORKER", "looks up another", "looks up another", False),
        (ITEM, "WORKER", "looks up another", "looks up", False),
    ],
)
def test_whether_a_patch_is_for_the_wrong_role(
    world: World,
    capsys: pytest.CaptureFixture[str],
    method: str,
    change: str,
    role: str,
    in_main: str,
    in_worker: str,
    *,
    is_misplaced: bool,
) -> None:
    """It is where the target is used in processes of other roles only, however they start."""
    world.module("up.mod", UP)
    roles = f"{{Role.{role}}}"
    world.pack(row("one", "patch_a", change, roles=roles), patch_a=BODY)
    (world.folder / "script.py").write_text(SCRIPT)
    done = world.run("script.py", method, in_main, in_worker, PATCHKIT_ONLY="one")
    assert done.returncode == 0, done.stderr
    data = answered(capsys, str(world.journal), code=int(is_misplaced))
    kinds = [finding["kind"] for finding in data["findings"]]
    assert kinds == (["misplaced"] if is_misplaced else [])
