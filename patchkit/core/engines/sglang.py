"""SGLang 0.5.10 to 0.5.23: how its processes are recognized, and their roles.

Its processes have no names of their own (`Process-1`), so that only what they run tells. The
scheduler is engine core and worker in one. Rows match nothing in a release without their process.
"""

from patchkit.core.engines.engine import Engine, Server
from patchkit.core.rows.declaration import Role
from patchkit.core.rows.processes import rows_of_table

# The tokenizer manager runs in the process that launches the others; beside it are those that
# serve, route or turn tokens into text.
_MAIN = """
call     sglang.srt.entrypoints.engine:Engine._launch_subprocesses
call     sglang.srt.managers.detokenizer_manager:DetokenizerManager.__init__
call     sglang.srt.managers.data_parallel_controller:DataParallelController.__init__
target   sglang.srt.managers.detokenizer_manager:run_detokenizer_process
target   sglang.srt.managers.multi_tokenizer_mixin:run_multi_detokenizer_router_process
target   sglang.srt.managers.data_parallel_controller:run_data_parallel_controller_process
target   sglang.srt.entrypoints.http_server:launch_server
target   sglang.multimodal_gen.runtime.launch_server:launch_http_server_only
target   sglang.multimodal_gen.runtime.managers.worker_bootstrap:bootstrap_http_server_process
target   sglang.lang.backend.runtime_endpoint:launch_server
title    sglang::detokenizer  sglang::tokenizer_worker  sglang::data_parallel_controller
"""

_SCHEDULER = """
call     sglang.srt.managers.scheduler:Scheduler.__init__
target   sglang.srt.managers.scheduler:run_scheduler_process
target   sglang.srt.managers.data_parallel_controller:run_scheduler_process_with_init_pipe
target   sglang.multimodal_gen.runtime.managers.gpu_worker:run_scheduler_process
target   sglang.multimodal_gen.runtime.managers.worker_bootstrap:bootstrap_scheduler_process
actor    sglang.srt.ray.scheduler_actor:SchedulerActor
title    sglang::scheduler  sgl_diffusion::scheduler
"""

# A model runs there, and no scheduler: encoders of images, and what holds weights for workers.
_WORKER = """
call     sglang.srt.disaggregation.encode_server:MMEncoder.__init__
call     sglang.srt.disaggregation.encoder.server:MMEncoder.__init__
target   sglang.srt.disaggregation.encode_server:launch_encoder
target   sglang.srt.disaggregation.encoder.server:launch_encoder
target   sglang.srt.disaggregation.encoder.runtime:launch_dp_worker
target   sglang.srt.model_executor.mindspore_runner:run_scheduler_init
target   sglang.srt.weight_cache.daemon:run_weight_cache_daemon
target   sglang.srt.elastic_ep.expert_backup_manager:run_expert_backup_manager_process
"""

_NO_ENGINE = """
target   sglang.srt.observability.trace_async:_TraceExporterProcess
target   sglang.srt.distributed.device_communicators.custom_all_reduce_utils:consumer
target   sglang.srt.distributed.device_communicators.custom_all_reduce_utils:producer
target   sglang.srt.entrypoints.sidecar:_run_sidecar
"""

ENGINE = Engine(
    name="SGLang",
    package="sglang",
    processes=(
        *rows_of_table(_MAIN, Role.MAIN),
        *rows_of_table(_SCHEDULER, (Role.ENGINE_CORE, Role.WORKER)),
        *rows_of_table(_WORKER, Role.WORKER),
        *rows_of_table(
            _NO_ENGINE, role=None, why="it serves another process, and runs no engine"
        ),
    ),
    plugin_groups=("sglang.srt.plugins",),
    plugins_since="0.5.11",
    plugin_variable="SGLANG_PLUGINS",
    titles=("sglang::", "sgl_diffusion::"),
    # Only `ServerArgs` has the first. Of names that it does not know, SGLang passes those that
    # begin with `_` on to its children, and leaves them out where it prints or sends its fields.
    configuration="skip_server_warmup",
    digest_in="_patchkit",
    servers=(
        Server(("sglang", "serve"), "30000"),
        Server(("-m", "sglang.launch_server"), "30000"),
    ),
)
