"""vLLM 0.5 to 0.33, with vllm-omni 0.30: how their processes are recognized, and their roles.

A row matches nothing in a release that does not have its process, so the rows need no versions.
"""

from patchkit.core.engines.engine import Engine, Server
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import rows_of_table

_BY_RUST = (
    "vllm.entrypoints.anthropic",
    "vllm.entrypoints.cohere",
    "vllm.entrypoints.generate",
    "vllm.entrypoints.mcp",
    "vllm.entrypoints.openai",
    "vllm.entrypoints.pooling",
    "vllm.entrypoints.serve",
    "vllm.entrypoints.speech_to_text",
    "vllm.entrypoints.chat_utils",
    "vllm.parser",
    "vllm.renderers",
    "vllm.tool_parsers",
)

# The process that makes an engine's configuration is main; so are those that serve its requests.
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

# Also the engines of V0 (up to 0.6.1, and up to 0.10), the stages of vllm-omni, and calls by which
# an engine core runs in the caller's process (VLLM_ENABLE_V1_MULTIPROCESSING=0). The names of
# processes are a second way, for a process whose target other code has wrapped.
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
target   vllm.distributed.device_communicators.all_reduce_utils:consumer
target   vllm.distributed.device_communicators.all_reduce_utils:producer
"""
_ASKS_DRIVER = "command all_reduce_utils.py mlopart.py moriio_heartbeat.py"
_TRAINERS = (
    "actor vllm.distributed.weight_transfer.sharded_rdt_trainer:_RDTProducerServer"
)
_RUST = """
call     vllm.v1.utils:RustFrontendProcessManager.__init__
command  vllm-rs
switch   VLLM_USE_RUST_FRONTEND
"""


ENGINE = Engine(
    name="vLLM",
    package="vllm",
    processes=(
        *rows_of_table(_MAIN, Role.MAIN),
        *rows_of_table(_ENGINE_CORE, Role.ENGINE_CORE),
        *rows_of_table(_WORKER, Role.WORKER),
        *rows_of_table(
            _FOR_ITS_PARENT,
            role=None,
            why="it runs functions for its parent, and no engine",
        ),
        *rows_of_table(
            _ASKS_DRIVER, role=None, why="it asks the driver, and runs no engine"
        ),
        *rows_of_table(
            _TRAINERS,
            role=None,
            why="it sends a trainer's weights, and runs no engine",
        ),
        *rows_of_table(
            _RUST,
            role=None,
            why="the Rust frontend is no Python process",
            instead_of=_BY_RUST,
        ),
    ),
    plugin_groups=("vllm.platform_plugins", "vllm.general_plugins"),
    plugin_variable="VLLM_PLUGINS",
    titles=("VLLM::",),
    # vLLM hashes this part of its configuration for its compile cache.
    configuration="additional_config",
    digest_in="additional_config",
    helper="vllm.model_executor.models.registry:_run_in_subprocess",
    servers=(Server(("vllm", "serve"), "8000", "VLLM_API_KEY"),),
)
