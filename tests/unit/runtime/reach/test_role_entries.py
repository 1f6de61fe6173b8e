from __future__ import annotations

import json

import pytest
from support import packages
from support.packages import World, row

pytestmark = pytest.mark.processes

world = packages.world

UPSTREAM = "def function(): return 'old'\n"
BY = (
    "def by(wrapped, instance, args, kwargs): return (KIND, wrapped(*args, **kwargs))\n"
)
WRAP = "Wrap('up.mod:function', by='by')"

CONSTRUCTED = "    def __init__(self): self.seen = seen()\n"
VLLM = {
    "vllm.engine.arg_utils": (
        "class EngineArgs:\n    def create_engine_config(self): return seen()\n"
    ),
    "vllm.v1.engine.core_client": f"class InprocClient:\n{CONSTRUCTED}",
    "vllm.v1.engine.core": (
        f"class EngineCore:\n{CONSTRUCTED}"
        "class EngineCoreProc(EngineCore): ...\n"
        "class DPEngineCoreActor(EngineCoreProc): ...\n"
    ),
    "vllm.v1.worker.worker_base": f"class WorkerWrapperBase:\n{CONSTRUCTED}",
    "vllm.v1.executor.ray_utils": (
        "from vllm.v1.worker.worker_base import WorkerWrapperBase\n"
        "class RayWorkerWrapper(WorkerWrapperBase): ...\n"
    ),
}
RAY = """
class Descriptor:
    def __init__(self, where): self.module_name, _, self.class_name = where.partition(':')
class FunctionActorManager:
    def load_actor_class(self, job, where):
        import importlib
        return getattr(importlib.import_module(where.module_name), where.class_name)
"""


@pytest.fixture
def upstream(world: World) -> World:
    """A vLLM of a few lines, each of whose entries tells what it sees of a patched function."""
    world.module("up.mod", UPSTREAM)
    for name, source in VLLM.items():
        world.module(name, f"from up.tell import seen\n{source}")
    world.module("up.tell", "import up.mod\ndef seen(): return up.mod.function()\n")
    world.module("ray._private.function_manager", RAY)
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


ONLY = "main,core,worker"


def test_one_process_enters_three_roles(upstream: World) -> None:
    """An engine in this very process: each constructor finds its role's patch already there."""
    code = """
import json, patchkit.auto
from vllm.engine.arg_utils import EngineArgs
from vllm.v1.engine.core import EngineCore
from vllm.v1.worker.worker_base import WorkerWrapperBase
print(json.dumps([EngineArgs().create_engine_config(), EngineCore().seen,
                  WorkerWrapperBase().seen, sorted(patchkit.auto.session.roles)]))
"""
    main = ["main", "old"]
    core = ["core", main]
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == [
        main,
        core,
        ["worker", core],
        ["engine-core", "main", "worker"],
    ]


def test_an_entry_that_was_imported_before_arming_is_hooked(upstream: World) -> None:
    """An entry enters its role also if its module was imported before the process was armed."""
    code = """
import json
from vllm.v1.engine.core import EngineCore, EngineCoreProc
import patchkit.auto
print(json.dumps(EngineCoreProc().seen))
"""
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == ["core", ["main", "old"]]


def test_a_derived_class_enters_too(upstream: World) -> None:
    """A class that inherits an entry's constructor enters its role, as Ray's actor does."""
    code = """
import json, patchkit.auto
from vllm.v1.executor.ray_utils import RayWorkerWrapper
print(json.dumps(RayWorkerWrapper().seen))
"""
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == ["worker", ["main", "old"]]


@pytest.mark.parametrize(
    ("where", "roles"),
    [
        ("vllm.v1.executor.ray_utils:RayWorkerWrapper", ["worker"]),
        ("vllm.v1.engine.core:DPEngineCoreActor", ["engine-core"]),
        ("argparse:ArgumentParser", ["main"]),
    ],
)
def test_a_ray_worker_enters_the_role_of_its_actor(
    upstream: World, where: str, roles: list[str]
) -> None:
    """A Ray worker has no role until it loads its actor's class, and then only that class's."""
    upstream.module(
        "default_worker",
        f"""
import json
import patchkit.auto
before = sorted(patchkit.auto.session.roles)
from ray._private.function_manager import Descriptor, FunctionActorManager
FunctionActorManager().load_actor_class(None, Descriptor({where!r}))
from up.tell import seen
print(json.dumps([before, sorted(patchkit.auto.session.roles), seen()]))
""",
    )
    done = upstream.run("default_worker.py", PATCHKIT_ONLY=ONLY)
    assert done.returncode == 0, done.stderr
    (role,) = roles
    kind = "core" if role == "engine-core" else role
    assert done.stdout.strip() == f'[[], ["{role}"], ["{kind}", "old"]]'


USERS = """
import up.mod
from up.mod import function
FOUND = up.mod.function()
class Actor:
    captured = staticmethod(function)
"""


@pytest.mark.parametrize(
    ("base", "kind"),
    [("", "main"), ("vllm.v1.executor.ray_utils.RayWorkerWrapper", "worker")],
)
def test_what_a_users_class_refers_to_is_patched(
    upstream: World, base: str, kind: str
) -> None:
    """Ray loads a user's actor once its role is entered; one that derives from a worker is one."""
    source = USERS
    if base:
        derived = USERS.replace("Actor:", f"Actor({base}):")
        source = f"import {base.rpartition('.')[0]}\n{derived}"
    upstream.module("users", source)
    upstream.module(
        "default_worker",
        """
import json
import patchkit.auto
from ray._private.function_manager import Descriptor, FunctionActorManager
cls = FunctionActorManager().load_actor_class(None, Descriptor("users:Actor"))
import up.mod
print(json.dumps([sorted(patchkit.auto.session.roles), cls.captured(), up.mod.function()]))
""",
    )
    done = upstream.run("default_worker.py", PATCHKIT_ONLY=ONLY)
    assert done.returncode == 0, done.stderr
    roles, captured, now = json.loads(done.stdout)
    assert (roles, now) == ([kind], [kind, "old"])
    if not base:  # which nobody could know before it was loaded
        assert captured == now


def test_a_process_with_a_role_keeps_it(upstream: World) -> None:
    """Whoever loads an actor's class without being its process does not become one."""
    code = """
import json, patchkit.auto
from ray._private.function_manager import Descriptor, FunctionActorManager
where = Descriptor("vllm.v1.executor.ray_utils:RayWorkerWrapper")
FunctionActorManager().load_actor_class(None, where)
print(json.dumps(sorted(patchkit.auto.session.roles)))
"""
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == ["main"]


def test_a_frontend_that_is_no_python_process_is_noted(upstream: World) -> None:
    """When a Rust frontend starts, the journal names the patches that have no process, and why."""
    starts = (
        "class RustFrontendProcessManager:\n    def __init__(self): print('started')\n"
    )
    upstream.module("vllm.v1.utils", starts)
    chat = "Wrap('vllm.entrypoints.openai.serving_chat:function', by='by')"
    others = [
        row(kind, f"patch_{kind}", WRAP, roles="{Role.MAIN}")
        for kind in ("core", "worker")
    ]
    upstream.pack(row("chat", "patch_main", chat, roles="{Role.MAIN}"), *others)
    code = "import patchkit.auto\nfrom vllm.v1.utils import *\nRustFrontendProcessManager()"
    done = upstream.run("-c", code)
    assert done.stdout == "started\n", done.stderr
    left = [entry for entry in upstream.entries() if entry["event"] == "left-without"]
    why = "the Rust frontend is no Python process"
    assert [(entry["name"], entry["reason"]) for entry in left] == [("chat", why)]


def test_a_failed_patch_stops_the_engine_that_swallowed_it(upstream: World) -> None:
    """The engine's constructor raises an error that vLLM swallowed when it imported a target."""
    upstream.module("pack.patch_core", "def misspelt(): ...")
    code = """
import patchkit.auto
from patchkit import Role
try:
    patchkit.auto.session.enter(Role.ENGINE_CORE)
    import up.mod
except Exception as error:
    print("swallowed", type(error).__name__)
from vllm.v1.engine.core import EngineCore
EngineCore()
print("started")
"""
    upstream.module(
        "vllm.v1.engine.core", "class EngineCore:\n    def __init__(self): ...\n"
    )
    done = upstream.run("-c", code, PATCHKIT_ONLY=ONLY)
    assert done.stdout == "swallowed ApplyError\n"
    assert "ApplyError: required patch core (pack.patch_core) failed" in done.stderr


def test_a_name_for_anothers_class_is_not_hooked(upstream: World) -> None:
    """An entry's name for a class of another module, as in vLLM 0.7, enters no role."""
    upstream.module(
        "vllm.engine.llm_engine",
        "from vllm.elsewhere import Engine as LLMEngine\n",
    )
    upstream.module("vllm.elsewhere", "class Engine:\n    def __init__(self): ...\n")
    code = """
import json, patchkit.auto
from vllm.engine.llm_engine import LLMEngine
LLMEngine()
print(json.dumps(sorted(patchkit.auto.session.roles)))
"""
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == ["main"]


def test_an_entry_without_a_constructor_of_its_own_is_imported(upstream: World) -> None:
    """A release whose entry has no constructor of its own can be imported: the hook is no error."""
    upstream.module("vllm.v1.engine.core", "class EngineCore: ...\n")
    code = """
import json, sys, patchkit.auto
sys.modules["wrapt"] = None
from vllm.v1.engine.core import EngineCore
EngineCore()
print(json.dumps("imported"))
"""
    assert upstream.answer(code, PATCHKIT_ONLY=ONLY) == "imported"
