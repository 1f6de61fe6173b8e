"""
How a process enters main, engine-core and worker, and where it belongs: who asked for it, say.

The tables say which upstream function begins a role (vLLM 0.5 to 0.33, read and traced). A name
that a release lacks is never reached there, so the tables need no versions.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from patchkit.errors import SettingsError
from patchkit.rows.declaration import Role
from patchkit.rows.target import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping


PROCESS_TARGETS: Mapping[str, Role] = {
    "vllm.v1.engine.core:EngineCoreProc.run_engine_core": Role.ENGINE_CORE,
    "vllm.v1.executor.multiproc_executor:WorkerProc.worker_main": Role.WORKER,
    # V0: up to 0.6.1, and up to 0.10
    "vllm.entrypoints.openai.rpc.server:run_rpc_server": Role.ENGINE_CORE,
    "vllm.engine.multiprocessing.engine:run_mp_engine": Role.ENGINE_CORE,
    "vllm.executor.multiproc_worker_utils:_run_worker_process": Role.WORKER,
}
"""What `multiprocessing.Process(target=…)` runs."""

_PROCESS_NAMES = (("EngineCore", Role.ENGINE_CORE), ("VllmWorker", Role.WORKER))
"""How the process is called, where its target is wrapped by somebody (since 0.9)."""

ENTRIES: Mapping[Target, Role] = {
    Target.parse(text): role
    for text, role in (
        # Whoever makes an engine's configuration is its main process.
        ("vllm.engine.arg_utils:EngineArgs.create_engine_config", Role.MAIN),
        # An engine in this very process (VLLM_ENABLE_V1_MULTIPROCESSING=0), a Ray actor.
        ("vllm.v1.engine.core_client:InprocClient.__init__", Role.ENGINE_CORE),
        ("vllm.v1.engine.core:EngineCore.__init__", Role.ENGINE_CORE),
        ("vllm.engine.llm_engine:LLMEngine.__init__", Role.ENGINE_CORE),
        ("vllm.v1.worker.worker_base:WorkerWrapperBase.__init__", Role.WORKER),
        ("vllm.worker.worker_base:WorkerWrapperBase.__init__", Role.WORKER),
        ("vllm.v1.worker.worker_base:WorkerWrapperBase.init_worker", Role.WORKER),
        ("vllm.worker.worker_base:WorkerWrapperBase.init_worker", Role.WORKER),
        ("vllm.v1.executor.multiproc_executor:WorkerProc.__init__", Role.WORKER),
        ("vllm.v1.executor.ray_executor_v2:RayWorkerProc.__init__", Role.WORKER),
    )
}
"""Calls that enter a role. Main's returns the engine's configuration, others may be given it."""

RAY_ACTORS: Mapping[str, Role] = {
    "vllm.engine.async_llm_engine:_AsyncLLMEngine": Role.ENGINE_CORE,
    "vllm.executor.ray_utils:RayWorkerWrapper": Role.WORKER,
    "vllm.v1.executor.ray_utils:RayWorkerWrapper": Role.WORKER,
    "vllm.v1.executor.ray_executor_v2:RayWorkerProc": Role.WORKER,
    "vllm.v1.engine.core:EngineCoreActorMixin": Role.ENGINE_CORE,
    "vllm.v1.engine.core:DPEngineCoreActor": Role.ENGINE_CORE,
}
"""Classes that vLLM runs as Ray actors; an actor's class or a base of it is among them."""

_HELPERS = ("vllm.model_executor.models.registry",)
"""
Modules that vLLM runs with `python -m` only to unpickle a function there and to call it. That
function, and all that it uses, comes from the module under its own name.
"""

LIBRARIES = ("multiprocessing", "multiprocess")
"""What starts child processes: Python's own, and its namesake with functions of the same names."""

ROLE_VARIABLE = "PATCHKIT_ROLE"
"""Tells a Ray worker process its role before it has loaded anything; consumed on arrival."""

PARENT_VARIABLE = "PATCHKIT_PARENT"
"""Tells a Ray worker process who asked for it, `host:pid`; its parent is the raylet."""

TESTS_VARIABLE = "PATCHKIT_TESTS"
"""Set while pytest runs with patchkit's plugin: tests say which patches apply."""

# How processes are started that are part of the one that starts them, beside spawned children.
_PARTS = ("multiprocessing.forkserver", *_HELPERS)
_TRACKER = "from multiprocessing.resource_tracker import main;"


def role_of_actor(cls: type) -> Role | None:
    """Tell the role of a Ray actor by its class, or None if it is none of vLLM's."""
    names = (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)
    return next((RAY_ACTORS[name] for name in names if name in RAY_ACTORS), None)


def role_of_process(process: Any) -> Role | None:
    """Tell the role of a `multiprocessing` process from its target or its name."""
    target: Any = getattr(process, "_target", None)
    while isinstance(target, functools.partial):
        target = target.func
    where = f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', '')}"
    return PROCESS_TARGETS.get(where) or role_of_name(getattr(process, "name", ""))


def role_of_name(name: str) -> Role | None:
    """Tell the role from the name of a `multiprocessing` process."""
    return next((role for prefix, role in _PROCESS_NAMES if name.startswith(prefix)), None)


def is_ray_worker() -> bool:
    """Whether Ray's raylet started this process."""
    # `sys.argv` is not there yet while `site` runs.
    return any(word.endswith("default_worker.py") for word in sys.orig_argv)


def is_spawned_child() -> bool:
    """Whether `multiprocessing` started this process with a new interpreter."""
    return "--multiprocessing-fork" in sys.orig_argv


def _is_told_by_parent() -> bool:
    """Whether a parent may tell the role; what other libraries start with this flag has nobody."""
    texts = [word for word in sys.orig_argv if " import spawn_main" in word]
    known = any(f"from {library}.spawn import" in text for library in LIBRARIES for text in texts)
    return is_spawned_child() and (known or not texts)


def initial_roles(environ: MutableMapping[str, str]) -> frozenset[Role]:
    """
    Tell the roles that a process has when patchkit arrives in it.

    None where that is yet to come: a Ray worker process learns it from its actor's class, unless
    whoever asked for the actor told, and a spawned child from its parent, or when it begins. Takes
    `PATCHKIT_ROLE` out of environ where it is meant for this process.
    """
    if is_ray_worker():
        told = environ.pop(ROLE_VARIABLE, "")
        if told and told not in map(str, Role):
            roles = ", ".join(repr(str(known)) for known in Role)
            raise SettingsError(f"{ROLE_VARIABLE}: found {told!r}, expected one of {roles}")
        return frozenset({Role(told)} if told else ())
    started = [sys.modules.get(f"{library}.process") for library in LIBRARIES]
    processes = [module.current_process() for module in started if module is not None]
    role = next(filter(None, map(role_of_process, processes)), None)
    has_begun = any(type(process).__name__ != "_MainProcess" for process in processes)
    if role is None and _is_told_by_parent() and not has_begun:
        return frozenset()
    return frozenset({role or Role.MAIN})


def run_beside_its_name() -> str | None:
    """Name the module that was run as `__main__` by other code than patchkit's, or None."""
    module = sys.modules.get("__main__")
    spec = getattr(module, "__spec__", None)
    is_main = getattr(module, "__name__", "") == "__main__"
    name = getattr(spec, "name", None) if is_main else None
    return None if name in _HELPERS else name


# -- where a process belongs ----------------------------------------------------------------------


def tests_decide(environ: Mapping[str, str]) -> bool:
    """
    Whether tests say which patches apply here, and nothing arms the process that nobody asks to.

    So it is in the process that runs them, in its forks, and in children that carry on its work:
    those of multiprocessing and Ray. A program that a test starts is on its own, and `PATCHKIT=1`
    asks to be armed.
    """
    if TESTS_VARIABLE not in environ or environ.get("PATCHKIT", "").strip() == "1":
        return False
    return (
        "patchkit.pytest_plugin" in sys.modules
        or is_spawned_child()
        or is_ray_worker()
        or any(part in word for word in sys.orig_argv for part in _PARTS)
    )


def is_resource_tracker() -> bool:
    """Whether this process is what `multiprocessing` tidies up with; it runs no code of others."""
    return any(word.startswith(_TRACKER) for word in sys.orig_argv)


def this_process() -> str:
    """Name this process as `PATCHKIT_PARENT` does."""
    return f"{os.uname().nodename}:{os.getpid()}"


def asked_by(environ: Mapping[str, str]) -> str | None:
    """Name the process that asked for this one; None where Ray did not start it."""
    # The children of a Ray worker inherit the variable, and have an ordinary parent.
    return environ.get(PARENT_VARIABLE) if is_ray_worker() else None


def rank_given(call: Any, instance: Any, args: Any, kwargs: Any) -> int | None:
    """Find a worker's rank among the arguments of its constructor, or those of `init_worker`."""
    import inspect  # noqa: PLC0415 - 10 ms of a start, and vLLM imports it anyway

    try:
        given = inspect.signature(call).bind_partial(*args, **kwargs).arguments
        if "all_kwargs" in given:
            given = given["all_kwargs"][instance.rpc_rank]
        rank = given.get("rank")
    except (TypeError, ValueError, LookupError, AttributeError):
        return None  # another release's signature: the call itself will say what is wrong
    return rank if isinstance(rank, int) else None
