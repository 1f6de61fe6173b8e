from __future__ import annotations

import json
import pickle
import re
import shutil
import sys
from pathlib import Path

import multiprocess  # type: ignore[import-untyped]
import pytest
from support import packages
from support.packages import World, row

from patchkit import Role
from patchkit.runtime.process.failure_exit import EXIT_CODE
from patchkit.runtime.reach.carrier import Carrier

world = packages.world

METHODS = ("fork", "spawn", "forkserver")
WRAP = "Wrap('up.mod:function', by='by')"
BY = (
    "def by(wrapped, instance, args, kwargs): return (KIND, wrapped(*args, **kwargs))\n"
)

CORE = """
from up.tell import told
class EngineCoreProc:
    @staticmethod
    def run_engine_core(answers, config=None): answers.send(told(config))
"""
WORKER = """
from up.tell import told
class WorkerProc:
    @staticmethod
    def worker_main(answers, config=None): answers.send(told(config))
"""
# The configuration notes what it sees of the patched function while it is unpickled.
TELL = """
import up.mod
class Config:
    def __init__(self): self.seen = None
    def __reduce__(self): return unpickled, ()
def unpickled():
    config = Config()
    config.seen = up.mod.function()
    return config
def told(config):
    from patchkit.runtime.reach.arming import current
    session = current()
    return [session and sorted(session.roles), up.mod.function(), config and config.seen]
def target(answers, config=None): answers.send(told(config))
"""

ASK = """
def ask(method, target, name="Process-1"):
    import multiprocessing
    from up.tell import Config
    context = multiprocessing.get_context(method)
    here, there = context.Pipe(False)
    child = context.Process(target=target, args=(there, Config()), name=name)
    child.start()
    there.close()
    answer = here.recv()
    child.join(20)
    assert child.exitcode == 0
    return answer
"""
MAIN = """
import json, patchkit.auto
from ask import ask
import {module}
if __name__ == "__main__":
    print(json.dumps(ask({method!r}, {module}.{target}{name})))
"""


@pytest.fixture
def upstream(world: World) -> World:
    """A vLLM whose processes answer with their roles and what they see of a patched function."""
    world.module("up.mod", "def function(): return 'old'\n")
    world.module("up.tell", TELL)
    world.module("vllm.v1.engine.core", CORE)
    world.module("vllm.v1.executor.multiproc_executor", WORKER)
    world.module("ask", ASK)
    bodies = {
        f"patch_{kind}": f"KIND = {kind!r}\n{BY}" for kind in ("main", "core", "worker")
    }
    world.pack(
        row("main", "patch_main", WRAP, roles="{Role.MAIN}"),
        row("core", "patch_core", WRAP, roles="{Role.ENGINE_CORE}"),
        row("worker", "patch_worker", WRAP, roles="{Role.WORKER}"),
        **bodies,
    )
    return world


def parent(method: str, where: str, name: str = "") -> str:
    """A program that starts one child by this method, and prints what the child answers."""
    module, _, target = where.partition(":")
    words = f", name={name!r}" if name else ""
    return MAIN.format(method=method, module=module, target=target, name=words)


CORE_TARGET = "vllm.v1.engine.core:EngineCoreProc.run_engine_core"
WORKER_TARGET = "vllm.v1.executor.multiproc_executor:WorkerProc.worker_main"


def seen(method: str, kind: str) -> object:
    """What an argument saw while it was unpickled; a forked child unpickles nothing."""
    return None if method == "fork" else [kind, "old"]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("where", "role", "kind"),
    [(CORE_TARGET, "engine-core", "core"), (WORKER_TARGET, "worker", "worker")],
)
def test_a_child_has_its_role_and_only_its_patches(
    upstream: World, method: str, where: str, role: str, kind: str
) -> None:
    """By any start method, a child enters its role before its arguments are unpickled."""
    answer = upstream.script(parent(method, where), PATCHKIT_ONLY="main,core,worker")
    assert answer == [[role], [kind, "old"], seen(method, kind)]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_a_child_with_an_unknown_target_is_known_by_its_name(
    upstream: World, method: str
) -> None:
    """The name of a child gives it its role if its target does not, as somebody wrapped it."""
    code = parent(method, "up.tell:target", name="EngineCore_DP1")
    assert upstream.script(code) == [
        ["engine-core"],
        ["core", "old"],
        seen(method, "core"),
    ]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_any_other_child_is_main(upstream: World, method: str) -> None:
    """A child that is neither engine core nor worker, such as an API server, is main."""
    answer = upstream.script(parent(method, "up.tell:target", name="ApiServer_0"))
    assert answer == [["main"], ["main", "old"], seen(method, "main")]


@pytest.mark.processes
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_child_of_a_parent_that_is_no_file(upstream: World, method: str) -> None:
    """A child of `python -c`, whose main module it cannot import, has its role."""
    answer = upstream.answer(parent(method, CORE_TARGET))
    assert answer == [["engine-core"], ["core", "old"], ["core", "old"]]


@pytest.mark.processes
def test_a_child_of_a_parent_that_is_a_module(upstream: World) -> None:
    """A child of `python -m` has its role before its arguments are unpickled."""
    upstream.module("tool.main", parent("spawn", CORE_TARGET))
    done = upstream.run("-m", "tool.main")
    assert json.loads(done.stdout) == [
        ["engine-core"],
        ["core", "old"],
        ["core", "old"],
    ]


@pytest.mark.processes
def test_a_path_that_was_edited_at_run_time(upstream: World) -> None:
    """A pack that only the parent's edited `sys.path` finds is found by the child."""
    hidden = upstream.folder / "hidden"
    hidden.mkdir()
    for name in ("pack", "up", "vllm"):
        (upstream.folder / name).rename(hidden / name)
    edit = f"import sys\nsys.path.insert(0, {str(hidden)!r})\n"
    code = edit + parent("spawn", CORE_TARGET)
    answer = upstream.answer(code, PATCHKIT_PATCHES="pack")
    assert answer == [["engine-core"], ["core", "old"], ["core", "old"]]


@pytest.mark.processes
def test_a_childs_child_has_its_own_role(upstream: World) -> None:
    """A worker that an engine core starts is a worker, and the engine core stays what it is."""
    upstream.module(
        "vllm.v1.engine.core",
        """
        from up.tell import told
        from ask import ask
        from vllm.v1.executor.multiproc_executor import WorkerProc
        class EngineCoreProc:
            @staticmethod
            def run_engine_core(answers, config=None):
                answers.send([told(config), ask("spawn", WorkerProc.worker_main)])
        """,
    )
    assert upstream.script(parent("spawn", CORE_TARGET)) == [
        [["engine-core"], ["core", "old"], ["core", "old"]],
        [["worker"], ["worker", "old"], ["worker", "old"]],
    ]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_a_failure_in_the_child_stops_it(upstream: World, method: str) -> None:
    """The child exits with 1 and the reason on stderr, before its target runs.

    From Python 3.13 on, children of a fork server run what `atexit` has. Nothing tells there that
    the server has printed the error, so the code is that of an error that somebody swallowed.
    """
    upstream.module("pack.patch_core", "def misspelt(): ...")
    code = """
import multiprocessing, sys, up.mod, patchkit.auto
from vllm.v1.engine.core import EngineCoreProc
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    child = context.Process(target=EngineCoreProc.run_engine_core, args=(None,))
    child.start()
    child.join(20)
    print(child.exitcode)
"""
    (upstream.folder / "script.py").write_text(code)
    done = upstream.run("script.py", method)
    is_swallowed = method == "forkserver" and sys.version_info >= (3, 13)
    assert done.stdout == (f"{EXIT_CODE}\n" if is_swallowed else "1\n")
    assert "patch core (pack.patch_core) failed" in done.stderr


@pytest.mark.processes
def test_a_child_of_a_process_where_patchkit_is_off_is_not_armed(
    upstream: World,
) -> None:
    """With PATCHKIT=0 in its environment, a child has no session and sees the original."""
    answer = upstream.script(parent("spawn", CORE_TARGET), PATCHKIT="0")
    assert answer == [None, "old", "old"]


@pytest.mark.processes
def test_a_worker_of_a_pool_is_patched(upstream: World) -> None:
    """A worker of a `multiprocessing` pool is armed as main, like any other child."""
    code = """
import json, multiprocessing, patchkit.auto, up.mod
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps(pool.apply(up.mod.function)))
"""
    assert upstream.script(code) == ["main", "old"]


@pytest.mark.processes
def test_a_child_of_multiprocessing_that_was_imported_before_arming(
    upstream: World,
) -> None:
    """A child has its role also if its parent imported multiprocessing before it was armed."""
    code = "import multiprocessing.context\n" + parent("spawn", CORE_TARGET)
    assert upstream.script(code)[0] == ["engine-core"]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("name", "kind"), [("VllmWorker-0", "worker"), ("Process-1", "main")]
)
def test_a_child_of_the_library_multiprocess(
    upstream: World, method: str, name: str, kind: str
) -> None:
    """A child that `multiprocess` starts has its role, and the journal of its parent names it."""
    upstream.module("ask", ASK.replace("multiprocessing", "multiprocess"))
    answer = upstream.script(parent(method, "up.tell:target", name=name))
    assert answer == [[kind], [kind, "old"], seen(method, kind)]
    children = [entry for entry in upstream.entries() if entry["event"] == "child"]
    assert [child["name"] for child in children] == [name]


def unknown(upstream: World) -> list[str]:
    """Targets of the children that the journals call unknown."""
    unknowns = [entry for entry in upstream.entries() if entry["event"] == "unknown"]
    return [entry["target"] for entry in unknowns]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("when", ["before", "within"])
def test_a_child_with_vllm_that_no_row_knows_says_so(
    upstream: World, method: str, when: str
) -> None:
    """The journal names its target once, whether vLLM was loaded before it began or later."""
    load = "import vllm.v1.engine.core"
    at_top = f"{load}\n" if when == "before" else ""
    inside = load if when == "within" else "pass"
    target = f"def target(answers, config=None):\n    {inside}\n    answers.send([])\n"
    upstream.module("stage", at_top + target)
    upstream.script(parent(method, "stage:target"))
    assert unknown(upstream) == ["stage:target"]


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_a_child_without_vllm_or_with_a_known_target_says_nothing(
    upstream: World, method: str
) -> None:
    """The journal calls neither a child without vLLM unknown, nor one whose target a row knows."""
    upstream.script(parent(method, "up.tell:target"))
    upstream.script(parent(method, CORE_TARGET))
    assert unknown(upstream) == []


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_processes_that_another_package_tells_of(upstream: World, method: str) -> None:
    """A process that another package's entry point names has the role that it states."""
    info = upstream.folder / "stages-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: stages\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[patchkit.processes]\nmine = told_of\n")
    rows = "PROCESSES = (ProcessRow('target', 'up.tell:target', Role.WORKER),)"
    upstream.module("told_of", f"from patchkit import ProcessRow, Role\n{rows}\n")
    answer = upstream.script(parent(method, "up.tell:target"))
    assert answer == [["worker"], ["worker", "old"], seen(method, "worker")]


@pytest.mark.processes
def test_a_child_of_a_library_that_nobody_knows(upstream: World) -> None:
    """A copy under another name hooks nothing: what it spawns is a main, and patched."""
    copied = upstream.folder / "copied"
    shutil.copytree(
        Path(multiprocess.__file__).parent,
        copied,
        ignore=shutil.ignore_patterns("tests", "__pycache__"),
    )
    for file in copied.glob("*.py"):
        file.write_text(re.sub(r"\bmultiprocess\b", "copied", file.read_text()))
    upstream.module("ask", ASK.replace("multiprocessing", "copied"))
    answer = upstream.script(parent("spawn", "up.tell:target"))
    assert answer[:2] == [["main"], ["main", "old"]]


@pytest.mark.processes
@pytest.mark.parametrize("library", ["multiprocessing", "multiprocess"])
@pytest.mark.parametrize(
    ("name", "kind"), [("VllmWorker-0", "worker"), ("Process-1", "main")]
)
def test_a_child_of_a_parent_that_is_not_armed_goes_by_its_name(
    upstream: World, library: str, name: str, kind: str
) -> None:
    """A child that arms itself has the role that its process's name stands for."""
    upstream.module("ask", ASK.replace("multiprocessing", library))
    upstream.module(
        "late",
        "def target(answers, _):\n    import patchkit.auto\n"
        "    from up.tell import told\n    answers.send(told(None))",
    )
    code = parent("spawn", "late:target", name=name).replace("patchkit.auto", "sys")
    assert upstream.script(code) == [[kind], [kind, "old"], None]


REGISTRY = """
import json, pickle, subprocess, sys
def _run_in_subprocess(fn):
    command = [sys.executable, "-m", "vllm.model_executor.models.registry"]
    done = subprocess.run(command, input=pickle.dumps(fn), capture_output=True, check=True)
    return json.loads(done.stdout)
if __name__ == "__main__":
    print(json.dumps(pickle.load(sys.stdin.buffer)()))
"""


@pytest.mark.processes
@pytest.mark.parametrize("argument", ["asked", "fn=asked"])
def test_the_helper_of_the_model_registry_is_armed(
    upstream: World, argument: str
) -> None:
    """The helper is armed by the function that it gets, with a pack that only its parent finds."""
    upstream.module("vllm.model_executor.models.registry", REGISTRY)
    upstream.module(
        "asked", "from up.tell import told\ndef asked(): return told(None)\n"
    )
    (upstream.folder / "hidden").mkdir()
    (upstream.folder / "pack").rename(upstream.folder / "hidden" / "pack")
    code = f"""
        import json, sys
        sys.path.insert(0, "hidden")
        import patchkit.auto
        from asked import asked
        from vllm.model_executor.models.registry import _run_in_subprocess
        print(json.dumps(_run_in_subprocess({argument})))
    """
    assert upstream.answer(code, PATCHKIT_PATCHES="pack") == [
        ["main"],
        ["main", "old"],
        None,
    ]


@pytest.mark.processes
def test_a_target_in_the_module_of_that_helper_is_patched(upstream: World) -> None:
    """A target in the helper's own module is patched under the module's name, not `__main__`."""
    source = "def known(): return ['old']\n" + REGISTRY
    upstream.module("vllm.model_executor.models.registry", source)
    change = "Wrap('vllm.model_executor.models.registry:known', by='by')"
    body = "def by(wrapped, instance, args, kwargs): return ['new', *wrapped()]\n"
    upstream.pack(row("known", "patch_known", change), name="more", patch_known=body)
    look = "import vllm.model_executor.models.registry as registry\n"
    upstream.module("asked", look + "def asked(): return registry.known()\n")
    code = """
        import json, patchkit.auto
        from asked import asked
        from vllm.model_executor.models.registry import _run_in_subprocess
        print(json.dumps(_run_in_subprocess(asked)))
    """
    assert upstream.answer(code, PATCHKIT_PATCHES="more") == ["new", "old"]


def test_a_carrier_pickles_as_a_call_of_exec() -> None:
    """A carrier unpickles by `exec`, which any Python has and which returns None."""
    carrier = Carrier(Role.WORKER, ["a", "b"])
    function, (code, names) = carrier.__reduce__()
    assert function is exec
    assert names == {"sys_path": ["a", "b"], "role": "worker"}
    assert "arrive(role)" in code
    assert b"patchkit" in pickle.dumps(carrier)


OWN_TARGETS = """
from functools import partial, wraps
from up.tell import answer
class EngineCoreProc:
    @staticmethod
    def static(answers, _): answers.send(answer())
    @classmethod
    def of_class(cls, answers, _): answers.send(answer())
    def method(self, answers, _): answers.send(answer())
def function(answers, _): answers.send(answer())
core = EngineCoreProc()
def in_partials(): return partial(partial(function))
@wraps(function)
def namesake(answers, _): answers.send(answer())
"""
OWN_BODY = """
import up.tell
def by(wrapped, instance, args, kwargs):
    up.tell.ran.append(KIND)
    return wrapped(*args, **kwargs)
"""


def _wraps_own_targets(world: World) -> None:
    """Rows for main and for the engine core, on each function that a process may run."""
    world.module("up.tell", f"{TELL}\nran = []\ndef answer(): return ran\n")
    world.module("own", OWN_TARGETS)
    world.module("ask", ASK)
    names = (
        "EngineCoreProc.static",
        "EngineCoreProc.of_class",
        "EngineCoreProc.method",
        "function",
    )
    wraps = [f"Wrap('own:{name}', by='by')" for name in names]
    bodies = {
        f"patch_{kind}": f"KIND = {kind!r}\n{OWN_BODY}" for kind in ("main", "core")
    }
    world.module("up.mod", "def function(): return 'old'\n")
    world.pack(
        row("main", "patch_main", *wraps, roles="{Role.MAIN}"),
        row("core", "patch_core", *wraps, roles="{Role.ENGINE_CORE}"),
        **bodies,
    )


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("only", ["core", "main,core"])
@pytest.mark.parametrize(
    "target",
    [
        "EngineCoreProc.static",
        "EngineCoreProc.of_class",
        "core.method",
        "function",
        "in_partials()",
    ],
)
def test_the_own_function_of_a_child_is_patched_for_its_role(
    world: World, method: str, only: str, target: str
) -> None:
    """A child runs its own target as it is patched for the child, not as its parent has read it."""
    _wraps_own_targets(world)
    code = parent(method, f"own:{target}", name="EngineCore_DP0")
    assert world.script(code, PATCHKIT_ONLY=only) == ["core"]


@pytest.mark.processes
def test_a_child_for_which_nothing_is_patched_runs_the_original(world: World) -> None:
    """A forked engine core does not run what a patch for main has put around its own target."""
    _wraps_own_targets(world)
    code = parent("fork", "own:function", name="EngineCore_DP0")
    assert world.script(code, PATCHKIT_ONLY="main") == []


@pytest.mark.processes
@pytest.mark.parametrize("method", METHODS)
def test_a_child_whose_function_is_not_there_in_its_role_fails(
    world: World, method: str
) -> None:
    """A child that is to run what only a patch for its parent adds ends with an error."""
    world.module("up.mod", "class Thing: ...\n")
    world.pack(
        row("p", "patch_a", "Add('up.mod:Thing.run', by='run')"),
        patch_a="def run(self): ...\n",
    )
    code = f"""
    import json, multiprocessing
    import patchkit.auto
    import up.mod
    if __name__ == "__main__":
        context = multiprocessing.get_context({method!r})
        child = context.Process(target=up.mod.Thing().run, name="EngineCore_DP0")
        child.start()
        child.join()
        print(json.dumps(child.exitcode))
    """
    assert world.script(code) == 1


@pytest.mark.processes
def test_a_function_that_only_has_the_name_of_a_target_stays(world: World) -> None:
    """What is not under the name that it carries is somebody else's, and runs as it is."""
    _wraps_own_targets(world)
    code = parent("fork", "own:namesake", name="EngineCore_DP0")
    assert world.script(code, PATCHKIT_ONLY="core") == []
