"""A pack of rows for what vendors patch in vLLM 0.32.0, a kind of target each.

None of them changes the tokens. Whenever one acts, its body (or, for an Edit, the edited function)
leaves a line with `witness.seen`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit import (
    Add,
    AddField,
    AfterImport,
    BeforeImport,
    Decorate,
    Edit,
    Patch,
    Provide,
    Replace,
    Role,
    Wrap,
)

if TYPE_CHECKING:
    from patchkit.core.rows.declaration import Change

MAIN, CORE, WORKER = Role.MAIN, Role.ENGINE_CORE, Role.WORKER
SEEN = "__import__('rows.witness').witness.seen"
OBSERVERS = "patch_observers"


def row(
    name: str,
    roles: set[Role],
    *changes: Change,
    body: str | None = OBSERVERS,
    after: tuple[str, ...] = (),
) -> Patch:
    """A row of this pack; they differ in nothing else."""
    return Patch(
        name=name,
        body=body,
        requires=("vllm==0.32.0",),
        roles=roles,
        changes=changes,
        why="To show that a target of this kind can be patched.",
        upstream="none: a test",
        sunset="never",
        after=after,
    )


REQUEST = "vllm.v1.request"
SCHEDULER = "vllm.v1.core.sched.scheduler"
RUNNER = "vllm.v1.worker.gpu_model_runner:GPUModelRunner"
OUTPUT = "vllm.v1.engine.output_processor"
CORE_LOOP = "vllm.v1.engine.core"
ASYNC = "vllm.v1.engine.async_llm:AsyncLLM"
ATTENTION = "vllm.model_executor.layers.attention.attention"

IN_MAIN = (
    row(
        "validator-edited",
        {MAIN},
        Edit(
            "vllm.config.cache:CacheConfig._validate_cache_dtype",
            old="return cache_dtype",
            new=f"{SEEN}('validator-edited')\nreturn cache_dtype",
        ),
        body=None,
    ),
    row(
        "validator-wrapped",
        {MAIN},
        Wrap(
            "vllm.config.parallel:ParallelConfig._validate_parallel_config",
            by="validator",
        ),
    ),
    row(
        "class-method",
        {MAIN},
        Wrap(
            "vllm.v1.engine.logprobs:LogprobsProcessor.from_new_request",
            by="class_method",
        ),
    ),
    row(
        "initializer", {MAIN}, Wrap(f"{OUTPUT}:RequestState.__init__", by="initializer")
    ),
    row(
        "constant",
        {MAIN},
        Replace("vllm.v1.engine:FINISH_REASON_STRINGS", by="FINISH_REASON_STRINGS"),
        body="patch_reasons",
    ),
    row("coroutine", {MAIN}, Wrap(f"{ASYNC}.add_request", by="coroutine")),
    row("async-generator", {MAIN}, Wrap(f"{ASYNC}.generate", by="async_generator")),
    # Declared in the wrong order: `after` puts it right.
    row(
        "the-outer",
        {MAIN},
        Wrap(f"{OUTPUT}:OutputProcessor.process_outputs", by="outer"),
        after=("the-inner",),
    ),
    row(
        "the-inner",
        {MAIN},
        Wrap(f"{OUTPUT}:OutputProcessor.process_outputs", by="inner"),
    ),
)

IN_CORE = (
    row(
        "scheduler-edited",
        {CORE},
        Edit(
            f"{SCHEDULER}:Scheduler.schedule",
            old="scheduled_timestamp = time.monotonic()",
            new=f"scheduled_timestamp = time.monotonic(); {SEEN}('scheduler-edited')",
        ),
        body=None,
    ),
    row(
        "whole-class",
        {CORE},
        Replace(f"{REQUEST}:Request", by="Request"),
        body="patch_request",
    ),
    row(
        "static-method",
        {CORE},
        Wrap(f"{REQUEST}:RequestStatus.is_finished", by="static_method"),
    ),
    row(
        "enum-member",
        {CORE},
        AfterImport(REQUEST, call="add_member"),
        Wrap(f"{REQUEST}:RequestStatus.get_finished_reason", by="finished_reason"),
        body="patch_status",
    ),
    row(
        "context-manager",
        {CORE},
        Wrap(f"{CORE_LOOP}:EngineCore.log_error_detail", by="context_manager"),
    ),
    row(
        "engine-core-process",
        {CORE},
        Wrap(
            f"{CORE_LOOP}:EngineCoreProc._process_engine_step", by="engine_core_process"
        ),
    ),
    row(
        "engine-core-entry",
        {CORE},
        Wrap(f"{CORE_LOOP}:EngineCoreProc.run_engine_core", by="engine_core_entry"),
    ),
    row(
        "new-method",
        {CORE},
        Add("vllm.v1.core.block_pool:BlockPool.count_of_rows", by="count_of_rows"),
        Wrap("vllm.v1.core.block_pool:BlockPool.get_new_blocks", by="get_new_blocks"),
    ),
    row(
        "new-function",
        {CORE},
        Add("vllm.v1.core.kv_cache_utils:blocks_of_rows", by="blocks_of_rows"),
        Wrap(
            "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
            by="allocate_slots",
        ),
        body="patch_kv_cache",
    ),
    row(
        "lacking-module",
        {CORE},
        Provide("vllm.v1.core.row_counter"),
        body="patch_row_counter",
    ),
    row(
        "needs-the-module",
        {CORE},
        Wrap(f"{SCHEDULER}:Scheduler.add_request", by="add_request"),
        body="patch_scheduler",
        after=("lacking-module",),
    ),
    row(
        "decorated",
        {CORE},
        Decorate(f"{SCHEDULER}:Scheduler.update_from_output", by="decorated"),
    ),
    row("after-import", {CORE}, AfterImport(SCHEDULER, call="after_import")),
    row(
        "one-importer",
        {CORE},
        Wrap(f"{SCHEDULER}:check_stop", by="one_importer", rebind=False),
    ),
    row(
        "one-argument",
        {CORE},
        Edit(
            "vllm.v1.executor.multiproc_executor:WorkerProc.make_worker_process",
            old="daemon=True",
            new="daemon=False",
        ),
        body=None,
    ),
)

IN_WORKER = (
    row(
        "compiled-forward",
        {WORKER},
        Replace("vllm.model_executor.models.llama:LlamaMLP.forward", by="forward"),
        body="patch_llama",
    ),
    row(
        "property",
        {WORKER},
        Replace("vllm.v1.worker.gpu_input_batch:InputBatch.num_reqs", by="num_reqs"),
    ),
    row(
        "cached-function",
        {WORKER},
        Edit(
            "vllm.v1.attention.selector:_cached_get_attn_backend",
            old="if not attention_cls:",
            new=f"{SEEN}('cached-function')\nif not attention_cls:",
        ),
        body=None,
    ),
    row(
        "before-import",
        {WORKER},
        BeforeImport("vllm.v1.worker.cpu_worker", call="before_import"),
    ),
    row(
        "inherited-method",
        {WORKER},
        Wrap(
            "vllm.v1.worker.cpu_model_runner:CPUModelRunner._prepare_inputs",
            by="inherited",
        ),
    ),
    row(
        "nested-class",
        {WORKER},
        Wrap(
            "vllm.model_executor.model_loader.default_loader:DefaultModelLoader.Source.__init__",
            by="nested_class",
        ),
    ),
    row("runner-method", {WORKER}, Wrap(f"{RUNNER}.execute_model", by="runner_method")),
    row(
        "worker-method",
        {WORKER},
        Wrap("vllm.v1.worker.gpu_worker:Worker.execute_model", by="worker_method"),
    ),
    row(
        "custom-op",
        {WORKER},
        Edit(
            f"{ATTENTION}:unified_kv_cache_update",
            old="return key.new_empty(0)",
            new=f"{SEEN}('custom-op')\nreturn key.new_empty(0)",
        ),
        body=None,
    ),
    row(
        "registered-layer",
        {WORKER},
        AfterImport("vllm.model_executor.layers.activation", call="register"),
        body="patch_activation",
    ),
)

IN_SEVERAL = (
    row(
        "ten-importers",
        {CORE, WORKER},
        Replace("vllm.utils.math_utils:cdiv", by="cdiv"),
    ),
    row(
        "model-entry",
        {MAIN, WORKER},
        Replace(
            "vllm.model_executor.models.registry:ModelRegistry.models['LlamaForCausalLM']",
            by="ENTRY",
        ),
        body="patch_registry",
    ),
    row(
        "output-field",
        {CORE, WORKER},
        AddField(
            "vllm.v1.outputs:ModelRunnerOutput",
            name="written_by",
            type="int",
            default=0,
        ),
        Edit(
            f"{RUNNER}.sample_tokens",
            old="num_nans_in_logits=num_nans_in_logits, cudagraph_stats=cudagraph_stats",
            new="num_nans_in_logits=num_nans_in_logits, cudagraph_stats=cudagraph_stats, "
            "written_by=__import__('os').getpid()",
        ),
        Wrap(f"{SCHEDULER}:Scheduler.update_from_output", by="output_field"),
    ),
)

PATCHES = (*IN_MAIN, *IN_CORE, *IN_WORKER, *IN_SEVERAL)
