"""How processes are known, and the role that each enters: one row for each way to know one.

The rows below are those of vLLM 0.5 to 0.33 and of vllm-omni 0.30. What a release lacks is never
met there, so they need no versions. A package tells of its own processes by the entry-point group
`patchkit.processes`, which names a module that holds `PROCESSES`, a tuple of such rows.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from patchkit.record import Record
from patchkit.rows.declaration import Role, Row

GROUP = "patchkit.processes"

LIBRARIES = ("multiprocessing", "multiprocess")
"""What starts child processes: Python's own, and its namesake with functions of the same names."""

NAMED = ("target", "actor", "call")
BY = (*NAMED, "name", "title", "command", "switch")


class ProcessRow(Record):
    """One row: one way to know a process.

    Args:
        by: what tells: `target`, what `multiprocessing.Process(target=…)` runs; `actor`, the class
            of a Ray actor, or a base of it; `call`, a function that is called in the process (for
            main, the one that makes the configuration of an engine); `name`, what the process's
            name begins with; `title`, what its title begins with, where patchkit is not in it;
            `command`, the script or the module of `python -m`; `switch`, a variable that is set.
        what: the function or class as `module:qualname`, or the text.
        role: the role that the process enters; None for a process that needs none.
        why: the reason for no role.
        instead_of: modules whose code for main runs nowhere where this process is.
    """

    by: str
    what: str
    role: Role | None
    why: str = ""
    instead_of: Collection[str] = ()

    def leaves_out(self, rows: Iterable[Row]) -> list[str]:
        """Name the patches for main whose targets run nowhere where this process is."""
        gone = tuple(f"{name}." for name in self.instead_of)
        return [
            row.name
            for row in rows
            if Role.MAIN in row.roles
            and any(f"{change.place.module}.".startswith(gone) for change in row.patch.changes)
        ]


_ROUTES = ("anthropic", "cohere", "generate", "mcp", "openai", "pooling", "serve", "speech_to_text")
_BY_RUST = (
    *(f"vllm.entrypoints.{name}" for name in (*_ROUTES, "chat_utils")),
    *("vllm.parser", "vllm.renderers", "vllm.tool_parsers"),
)

# Whoever makes an engine's configuration is its main process; so are those that serve it.
_MAIN = """
call     vllm.engine.arg_utils:EngineArgs.create_engine_config
target   vllm.entrypoints.cli.serve:run_api_server_worker_proc
target   vllm.v1.utils:run_api_server_worker_proc
target   vllm.entrypoints.launchers.dp_supervisor:_run_vllm_dp_server
target   vllm.v1.engine.coordinator:DPCoordinatorProc.run_coordinator
target   vllm.benchmarks.startup:run_startup_in_subprocess
target   vllm_omni.entrypoints.cli.serve:run_omni_api_server_worker_proc
target   vllm_omni.distributed.omni_coordinator.runtime:run_omni_coordinator_proc
name     ApiServer_  APIServer_DPRank_  VLLM_DP_Coordinator  OmniCoordinator
command  vllm.model_executor.models.registry  vllm.snapshot.server
"""

# Also V0's (up to 0.6.1, and up to 0.10), the stages of vllm-omni, and what calls an engine core in
# this very process (VLLM_ENABLE_V1_MULTIPROCESSING=0). Names serve where somebody wraps the target.
_ENGINE_CORE = """
target   vllm.v1.engine.core:EngineCoreProc.run_engine_core
target   vllm.entrypoints.openai.rpc.server:run_rpc_server
target   vllm.engine.multiprocessing.engine:run_mp_engine
target   vllm_omni.engine.stage_engine_core_proc:StageEngineCoreProc.run_stage_core
target   vllm_omni.diffusion.stage_diffusion_proc:StageDiffusionProc.run_diffusion_proc
actor    vllm.engine.async_llm_engine:_AsyncLLMEngine
actor    vllm.v1.engine.core:EngineCoreActorMixin  vllm.v1.engine.core:DPEngineCoreActor
actor    vllm_omni.distributed.ray_utils.utils:start_ray_actor.<locals>.OmniStageRayWorker
call     vllm.v1.engine.core_client:InprocClient.__init__
call     vllm.v1.engine.core:EngineCore.__init__  vllm.engine.llm_engine:LLMEngine.__init__
name     EngineCore  StageEngineCoreProc  StageDiffusionProc
title    VLLM::EngineCore  VLLM::DPEngineCore  VLLM::StageEngineCoreProc
"""

# Also the daemons of `vllm preload`, which load and process a worker's weights in its place.
_WORKER = """
target   vllm.v1.executor.multiproc_executor:WorkerProc.worker_main
target   vllm.executor.multiproc_worker_utils:_run_worker_process
target   vllm.model_executor.model_loader.weight_cache.daemon:_run_daemon
target   vllm_omni.diffusion.worker.diffusion_worker:WorkerProc.worker_main
actor    vllm.executor.ray_utils:RayWorkerWrapper  vllm.v1.executor.ray_utils:RayWorkerWrapper
actor    vllm.v1.executor.ray_executor_v2:RayWorkerProc
call     vllm.v1.worker.worker_base:WorkerWrapperBase.__init__
call     vllm.worker.worker_base:WorkerWrapperBase.__init__
call     vllm.v1.worker.worker_base:WorkerWrapperBase.init_worker
call     vllm.worker.worker_base:WorkerWrapperBase.init_worker
call     vllm.v1.executor.multiproc_executor:WorkerProc.__init__
call     vllm.v1.executor.ray_executor_v2:RayWorkerProc.__init__
call     vllm.model_executor.model_loader.weight_cache.daemon:WeightCacheDaemon.__init__
name     VllmWorker  DiffusionWorker-  vllm-weight-cache-
title    VLLM::Worker  ray::RayWorker
"""

_FOR_ITS_PARENT = """
target   multiprocessing.pool:worker  multiprocessing.managers:BaseManager._run_server
target   multiprocess.pool:worker  multiprocess.managers:BaseManager._run_server
target   concurrent.futures.process:_process_worker  torch.utils.data._utils.worker:_worker_loop
target   vllm.distributed.device_communicators.all_reduce_utils:consumer
target   vllm.distributed.device_communicators.all_reduce_utils:producer
"""
_ASKS_DRIVER = "command all_reduce_utils.py mlopart.py moriio_heartbeat.py"
_TRAINERS = "actor vllm.distributed.weight_transfer.sharded_rdt_trainer:_RDTProducerServer"
_RUST = """
call     vllm.v1.utils:RustFrontendProcessManager.__init__
command  vllm-rs
switch   VLLM_USE_RUST_FRONTEND
"""


def _rows(
    table: str, role: Role | None, why: str = "", instead_of: Collection[str] = ()
) -> Iterator[ProcessRow]:
    for by, *known in map(str.split, table.strip().split("\n")):
        yield from (ProcessRow(by, what, role, why, instead_of) for what in known)


OWN: tuple[ProcessRow, ...] = (
    *_rows(_MAIN, Role.MAIN),
    *_rows(_ENGINE_CORE, Role.ENGINE_CORE),
    *_rows(_WORKER, Role.WORKER),
    *_rows(_FOR_ITS_PARENT, None, "it runs functions for its parent, and no engine"),
    *_rows(_ASKS_DRIVER, None, "it asks the driver, and runs no engine"),
    *_rows(_TRAINERS, None, "it sends a trainer's weights, and runs no engine"),
    *_rows(_RUST, None, "the Rust frontend is no Python process", _BY_RUST),
)
"""patchkit's own rows."""


class ProcessTable:
    """All rows of this process, and which of them another is known by."""

    def __init__(self, rows: Iterable[ProcessRow] = OWN) -> None:
        # The longest first: `EngineCoreTrainer` may be another's than `EngineCore`.
        ordered = sorted(rows, key=lambda row: -len(row.what))
        self._rows = {by: {row.what: row for row in ordered if row.by == by} for by in BY}

    def known(self, by: str, what: str) -> ProcessRow | None:
        """Find the row of exactly this."""
        return self._rows[by].get(what)

    def all(self, by: str) -> Iterable[ProcessRow]:
        """List the rows of one way to know a process."""
        return self._rows[by].values()

    def of_process(self, process: Any) -> ProcessRow | None:
        """Find the row of a `multiprocessing` process by its target, or else by its name."""
        name = str(getattr(process, "name", ""))
        return self.known("target", target_of(process)) or self.beginning("name", name)

    def of_actor(self, cls: type) -> ProcessRow | None:
        """Find the row of a Ray actor by its class, or by a base of that."""
        names = (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)
        return next(filter(None, (self.known("actor", name) for name in names)), None)

    def of_command(self, words: Sequence[str]) -> ProcessRow | None:
        """Find the row by Python's command line: `python -m MODULE`, or a script's name."""
        plain = [word for word in words[1:] if word == "-m" or not word.startswith("-")][:2]
        name = plain.pop() if plain[:1] == ["-m"] else "".join(plain[:1]).rpartition("/")[2]
        return self.known("command", name)

    def beginning(self, by: str, text: str) -> ProcessRow | None:
        """Find the row of the name or title that a process's begins with."""
        return next((row for row in self.all(by) if text.startswith(row.what)), None)

    def switched_on(self, environ: Mapping[str, str]) -> Iterator[ProcessRow]:
        """Yield the rows of variables that are set, to other than 0."""
        return (row for row in self.all("switch") if environ.get(row.what, "0").strip(" 0"))


def target_of(process: Any) -> str:
    """Name the function that a `multiprocessing` process runs, or else its class."""
    target: Any = getattr(process, "_target", None) or type(process)
    while isinstance(target, functools.partial):
        target = target.func
    return f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', '')}"
