"""
How a process enters main, engine-core and worker.

The tables say which upstream function begins a role (vLLM 0.7 to 0.33, read and traced). A name
that a release lacks is never reached there, so the tables need no versions.
"""

from __future__ import annotations

import functools
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
    # V0, up to 0.10
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
"""
Functions whose call means that the process has entered the role, if it had not before. The one of
main returns the engine's configuration; those of the others may be given it.
"""

RAY_ACTORS: Mapping[str, Role] = {
    "vllm.executor.ray_utils:RayWorkerWrapper": Role.WORKER,
    "vllm.v1.executor.ray_utils:RayWorkerWrapper": Role.WORKER,
    "vllm.v1.executor.ray_executor_v2:RayWorkerProc": Role.WORKER,
    "vllm.v1.engine.core:EngineCoreActorMixin": Role.ENGINE_CORE,
    "vllm.v1.engine.core:DPEngineCoreActor": Role.ENGINE_CORE,
}
"""Classes that vLLM runs as Ray actors; an actor's class or a base of it is among them."""

HELPERS = frozenset({"vllm.model_executor.models.registry"})
"""
Modules that vLLM runs with `python -m` only to unpickle a function there and to call it. That
function, and all that it uses, comes from the module under its own name.
"""

LIBRARIES = ("multiprocessing", "multiprocess")
"""What starts child processes: Python's own, and its namesake with functions of the same names."""

ROLE_VARIABLE = "PATCHKIT_ROLE"
"""Tells a Ray worker process its role before it has loaded anything; consumed on arrival."""


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


_PROCESSES = tuple(f"{library}.process" for library in LIBRARIES)


def initial_roles(environ: MutableMapping[str, str]) -> frozenset[Role]:
    """
    Tell the roles that a process has when patchkit arrives in it.

    None where that is yet to come: a Ray worker process learns it from its actor's class, unless
    whoever asked for the actor told, and a spawned child from its parent, or when it begins. Takes
    `PATCHKIT_ROLE` out of environ where it is meant for this process.
    """
    if is_ray_worker():
        return _told(environ.pop(ROLE_VARIABLE, ""))
    processes = [sys.modules[name].current_process() for name in _PROCESSES if name in sys.modules]
    role = next(filter(None, map(role_of_process, processes)), None)
    has_begun = any(type(process).__name__ != "_MainProcess" for process in processes)
    if role is None and _is_told_by_parent() and not has_begun:
        return frozenset()
    return frozenset({role or Role.MAIN})


def _told(role: str) -> frozenset[Role]:
    try:
        return frozenset({Role(role)} if role else ())
    except ValueError:
        roles = ", ".join(repr(str(known)) for known in Role)
        found = f"{ROLE_VARIABLE}: found {role!r}, expected one of {roles}"
        raise SettingsError(found) from None
