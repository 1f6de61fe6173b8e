"""An engine that patchkit does not know, added by an entry point alone: a toy of two processes."""

from __future__ import annotations

from typing import Any

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

TOY = {
    "toyserve.__init__": "",
    "toyserve.mod": "def function(): return ['old']\n",
    "toyserve.settings": """
class Settings:
    def __init__(self): self.toy_model = "tiny"
""",
    "toyserve.processes": """
def answer(queue, kind):
    import patchkit.auto, toyserve.mod
    roles = sorted(map(str, patchkit.auto.session.roles))
    queue.put([kind, roles, toyserve.mod.function()])
class Model:
    def __init__(self, settings): self.settings = settings
def run_model(settings, queue):
    Model(settings)
    answer(queue, "model")
def run_model_of_another(settings, queue):
    settings._patches["patchkit"]["worker"] = {}
    run_model(settings, queue)
def run_printer(settings, queue):
    answer(queue, "printer")
def run_stranger(settings, queue):
    answer(queue, "stranger")
""",
    "toyserve.launch": """
import multiprocessing
from toyserve import processes
class Launcher:
    def start(self, settings, method, names):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        answers = []
        for name in names:
            function = getattr(processes, name)
            child = context.Process(target=function, args=(settings, queue))
            child.start()
            child.join(30)
            answers.append(child.exitcode or queue.get(timeout=10))
        return answers
""",
    "toy_engine": """
from patchkit import Engine, ProcessRow, Role
ENGINE = Engine(
    name="ToyServe",
    package="toyserve",
    processes=(
        ProcessRow("call", "toyserve.launch:Launcher.start", Role.MAIN),
        ProcessRow("call", "toyserve.processes:Model.__init__", (Role.ENGINE_CORE, Role.WORKER)),
        ProcessRow("target", "toyserve.processes:run_model", (Role.ENGINE_CORE, Role.WORKER)),
        ProcessRow(
            "target",
            "toyserve.processes:run_model_of_another",
            (Role.ENGINE_CORE, Role.WORKER),
        ),
        ProcessRow("target", "toyserve.processes:run_printer", Role.MAIN),
    ),
    configuration="toy_model",
    digest_in="_patches",
)
""",
}
BODY = """
def by(wrapped, instance, args, kwargs): return [KIND, *wrapped(*args, **kwargs)]
"""
WRAP = "Wrap('toyserve.mod:function', by='by')"
START = """
import json, patchkit.auto, toyserve.mod
from toyserve.launch import Launcher
from toyserve.settings import Settings
if __name__ == "__main__":
    answers = Launcher().start(Settings(), METHOD, NAMES)
    print(json.dumps([toyserve.mod.function(), answers]))
"""


@pytest.fixture
def toy(world: World) -> World:
    """The toy, its entry point, and a row for each role, all on one function."""
    for name, source in TOY.items():
        world.module(name, source)
    info = world.folder / "toyserve-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: toyserve\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[patchkit.engines]\ntoy = toy_engine\n")
    kinds = ("main", "core", "worker")
    roles = ("{Role.MAIN}", "{Role.ENGINE_CORE}", "{Role.WORKER}")
    bodies = {f"patch_{kind}": f"KIND = {kind!r}\n{BODY}" for kind in kinds}
    world.pack(
        *[
            row(kind, f"patch_{kind}", WRAP, roles=role, requires="('toyserve>=1',)")
            for kind, role in zip(kinds, roles, strict=True)
        ],
        **bodies,
    )
    return world


def started(toy: World, method: str, *names: str) -> Any:
    """What main sees of the function, and what each process answers, or its exit code."""
    values = {"METHOD": method, "NAMES": names}
    code = "".join([f"{name} = {value!r}\n" for name, value in values.items()])
    return toy.script(code + START, PATCHKIT_ONLY="main,core,worker")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_each_process_has_its_roles_and_their_patches(toy: World, method: str) -> None:
    """One process enters two roles, another is main, and each has exactly its patches."""
    main, (model, printer) = started(toy, method, "run_model", "run_printer")
    assert main == ["main", "old"]
    assert model == ["model", ["engine-core", "worker"], ["worker", "core", "old"]]
    assert printer == ["printer", ["main"], ["main", "old"]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_digest_travels_in_the_configuration(toy: World, method: str) -> None:
    """A process with the patches of main goes on; one that main has other patches for stops."""
    _, (model, other) = started(toy, method, "run_model", "run_model_of_another")
    assert model[0] == "model"
    assert other == 1
    roles = [entry["role"] for entry in toy.entries() if entry["event"] == "digest"]
    assert set(roles) == {"main", "engine-core", "worker"}
    (told,) = [entry for entry in toy.entries() if entry["event"] == "disagreement"]
    assert told["reason"].startswith("the worker process ")
    assert "worker only here" in told["reason"]


def test_a_process_that_no_row_recognizes_is_told_of(toy: World) -> None:
    """It counts as main, and its journal names the engine that it has loaded."""
    _, (stranger,) = started(toy, "spawn", "run_stranger")
    assert stranger == ["stranger", ["main"], ["main", "old"]]
    (unknown,) = [entry for entry in toy.entries() if entry["event"] == "unknown"]
    assert unknown["target"] == "toyserve.processes:run_stranger"
    assert unknown["engine"] == "ToyServe"
