"""Rows for the hot code of a server of vLLM 0.32.0, and whether all of them are in effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PACK = "under_load"
_OUTPUT = "vllm.v1.engine.output_processor"
_SCHEDULER = "vllm.v1.core.sched.scheduler:Scheduler"
_CORE = "vllm.v1.engine.core"
_RUNNER = "vllm.v1.worker.gpu_model_runner:GPUModelRunner"
_BATCH = "vllm.v1.worker.gpu_input_batch:InputBatch"
_LLAMA = "vllm.model_executor.models.llama"

TARGETS: Mapping[str, tuple[str, ...]] = {
    "MAIN": (
        "vllm.entrypoints.openai.completion.serving:OpenAIServingCompletion"
        ".completion_stream_generator",
        "vllm.v1.engine.async_llm:AsyncLLM.generate",
        "vllm.v1.engine.async_llm:AsyncLLM.add_request",
        "vllm.v1.engine.input_processor:InputProcessor.process_inputs",
        "vllm.v1.engine.core_client:AsyncMPClient.get_output_async",
        f"{_OUTPUT}:OutputProcessor.process_outputs",
        f"{_OUTPUT}:RequestState.make_request_output",
        f"{_OUTPUT}:RequestOutputCollector.put",
        "vllm.v1.engine.detokenizer:BaseIncrementalDetokenizer.update",
        "vllm.v1.engine.detokenizer:FastIncrementalDetokenizer.decode_next",
        "vllm.v1.engine.logprobs:LogprobsProcessor.update_from_output",
        "vllm.v1.metrics.stats:IterationStats.update_from_output",
    ),
    "ENGINE_CORE": (
        f"{_CORE}:EngineCoreProc._process_input_queue",
        f"{_CORE}:EngineCoreProc._process_engine_step",
        f"{_CORE}:EngineCore.add_request",
        f"{_SCHEDULER}.add_request",
        f"{_SCHEDULER}.schedule",
        f"{_SCHEDULER}.update_from_output",
        "vllm.v1.core.sched.utils:check_stop",
        "vllm.v1.core.kv_cache_manager:KVCacheManager.allocate_slots",
        "vllm.v1.core.kv_cache_manager:KVCacheManager.free",
        "vllm.v1.core.block_pool:BlockPool.get_new_blocks",
        "vllm.v1.request:Request.append_output_token_ids",
        "vllm.v1.executor.multiproc_executor:MultiprocExecutor.execute_model",
    ),
    "WORKER": (
        "vllm.v1.worker.gpu_worker:Worker.execute_model",
        f"{_RUNNER}.execute_model",
        f"{_RUNNER}.sample_tokens",
        f"{_RUNNER}._update_states",
        f"{_RUNNER}._prepare_inputs",
        f"{_BATCH}.add_request",
        f"{_BATCH}.refresh_metadata",
        "vllm.v1.sample.sampler:Sampler.forward",
        f"{_LLAMA}:LlamaDecoderLayer.forward",
        f"{_LLAMA}:LlamaAttention.forward",
        f"{_LLAMA}:LlamaMLP.forward",
        f"{_LLAMA}:LlamaForCausalLM.compute_logits",
    ),
}
"""By the role of the process that calls them: for each request, step or token, or in each layer."""

ROWS = sum(map(len, TARGETS.values()))

_HEAD = "from patchkit import Patch, Role, Wrap\n\nPATCHES = (\n"
_ROW = """    Patch(
        name={name!r}, body="patch_all", requires=("vllm==0.32.0",), roles={{Role.{role}}},
        changes=(Wrap({target!r}, by={by!r}),), why="To measure it.", upstream="none",
        sunset="never",
    ),
"""
_WRAPPER = """
def {by}(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)

"""


class NotInEffectError(Exception):
    """A row of the pack does not do what the measurement is about."""


def write_pack(place: Path) -> None:
    """Write the pack into a folder: a row for each target, each with a wrapper of its own."""
    pack = place / PACK
    pack.mkdir()
    rows = list(_named_targets())
    declared = [
        _ROW.format(name=name, by=_wrapper_of(name), role=role, target=target)
        for name, role, target in rows
    ]
    wrappers = [_WRAPPER.format(by=_wrapper_of(name)) for name, _, _ in rows]
    (pack / "__init__.py").write_text(f"{_HEAD}{''.join(declared)})\n")
    (pack / "patch_all.py").write_text("".join(wrappers).lstrip())


def _named_targets() -> Iterator[tuple[str, str, str]]:
    """Yield the name, the role and the target of each row."""
    for role, targets in TARGETS.items():
        for number, target in enumerate(targets):
            yield f"{role.lower()}-{number}".replace("_", "-"), role, target


def _wrapper_of(name: str) -> str:
    return name.replace("-", "_")


def effect_in(picture: Mapping[str, Any]) -> str:
    """Say where the rows of the pack act.

    Args:
        picture: what `patchkit status --format json` prints.

    Returns:
        How many rows are in effect, and in how many processes, for a note.

    Raises:
        NotInEffectError: a row is applied nowhere or was never called, or the status has a finding,
            such as a row that failed in a process.
    """
    faults = [f"{it['kind']}: {it['message']}" for it in picture["findings"]]
    applied: set[str] = set()
    called: set[str] = set()
    holders: set[int] = set()
    for process in picture["processes"]:
        for patch in process["patches"]:
            if patch["pack"] == PACK and patch["status"] == "applied":
                applied.add(patch["name"])
                holders.add(process["pid"])
                if patch["in_effect"] == "yes":
                    called.add(patch["name"])
    for name, _, target in _named_targets():
        if name not in applied:
            faults.append(f"{name}, {target}: is applied nowhere")
        elif name not in called:
            faults.append(f"{name}, {target}: was never called")
    if faults:
        raise NotInEffectError("\n".join(faults))
    return (
        f"all {len(called)} rows are applied and in effect, in {len(holders)} processes"
    )
