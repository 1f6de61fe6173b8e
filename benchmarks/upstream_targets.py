"""Sixty definitions of vLLM, and a pack that changes each of them in every release."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Drawn at random: a release of seven, 0.2.7 to 0.33.0, a file of it, a definition in that.
TARGETS = (
    "vllm.assets.image:ImageAsset.pil_image_ext",
    "vllm.attention.selector:backend_name_to_enum",
    "vllm.compilation.compiler_interface:AlwaysHitShapeEnv.evaluate_guards_expression",
    "vllm.compilation.passes.fusion.add_rms_fusion:FusedAddRMSNormReshapePattern",
    "vllm.compilation.passes.fusion.attn_quant_fusion:AttentionNvfp4QuantPattern._register",
    "vllm.config.parallel:ParallelConfig.world_size_across_dp",
    "vllm.core.block.cpu_gpu_block_allocator:CpuGpuBlockAllocator.cow_block_if_not_appendable",
    "vllm.core.block_manager_v2:BlockSpaceManagerV2.get_block_table",
    "vllm.core.policy:Policy",
    "vllm.core.policy:Policy.get_priority",
    "vllm.distributed.device_communicators.pynccl_wrapper:NCCLLibrary.ncclAllReduce",
    "vllm.distributed.kv_transfer.kv_connector.v1.lmcache_connector:LMCacheConnectorV1.wait_for_save",
    "vllm.distributed.kv_transfer.kv_lookup_buffer.mooncake_store:MooncakeStore.__init__",
    "vllm.engine.metrics:add_global_metrics_labels",
    "vllm.entrypoints.pooling.classify.protocol:ClassificationCompletionRequest.build_tok_params",
    "vllm.executor.executor_base:ExecutorBase.list_loras",
    "vllm.logger:_setup_logger",
    "vllm.model_executor.layers.fused_moe.deepep_ht_prepare_finalize:DeepEPHTPrepareAndFinalize.prepare_async",
    "vllm.model_executor.layers.fused_moe.fused_moe:invoke_fused_moe_kernel",
    "vllm.model_executor.layers.fused_moe.gpt_oss_triton_kernels_moe:BaseOAITritonExperts._make_routing_data",
    "vllm.model_executor.layers.mamba.linear_attn:MiniMaxText01LinearAttention.weight_direct_load",
    "vllm.model_executor.layers.pooler.abstract:Pooler.get_pooling_updates",
    "vllm.model_executor.layers.quantization.auto_awq:AutoAWQMarlinLinearMethod.apply",
    "vllm.model_executor.layers.quantization.bitsandbytes:BitsAndBytesConfig.from_config",
    "vllm.model_executor.layers.quantization.hqq_marlin:HQQZeroScaleParameter.load_merged_column_weight",
    "vllm.model_executor.layers.quantization.marlin:MarlinConfig.get_quant_method",
    "vllm.model_executor.layers.quantization.quark.quark:QuarkConfig.get_supported_act_dtypes",
    "vllm.model_executor.layers.quantization.quark.utils:canonicalize_quark_packed_int4",
    "vllm.model_executor.layers.sampler:_apply_penalties",
    "vllm.model_executor.layers.sampler:_get_prompt_logprob_if_needed",
    "vllm.model_executor.model_loader.loader:DummyModelLoader.load_model",
    "vllm.model_executor.model_loader.utils:resolve_transformers_arch",
    "vllm.model_executor.models.bee:BeeMultiModalProjector.forward",
    "vllm.model_executor.models.bert:_encode_token_type_ids",
    "vllm.model_executor.models.bloom:BloomBlock.forward",
    "vllm.model_executor.models.bloom:BloomForCausalLM.load_weights",
    "vllm.model_executor.models.falcon:FalconAttention",
    "vllm.model_executor.models.falcon:FalconMLP",
    "vllm.model_executor.models.granitemoeshared:GraniteMoeSharedDecoderLayer.forward",
    "vllm.model_executor.models.internlm2:InternLM2Model.get_input_embeddings",
    "vllm.model_executor.models.interns1:InternS1VideoPixelInputs",
    "vllm.model_executor.models.nemotron_h_mtp:NemotronHMultiTokenPredictor.__init__",
    "vllm.model_executor.models.orion:OrionMLP.forward",
    "vllm.model_executor.models.registry:_ModelRegistry.is_text_generation_model",
    "vllm.model_executor.models.starcoder2:Starcoder2Model.__init__",
    "vllm.model_executor.offloader.base:BaseOffloader.wrap_modules",
    "vllm.model_executor.utils:set_weight_attrs",
    "vllm.reasoning.abs_reasoning_parsers:ReasoningParser.extract_content_ids",
    "vllm.tool_parsers.phi4mini_tool_parser:Phi4MiniJsonToolParser.extract_tool_calls_streaming",
    "vllm.transformers_utils.config:HFConfigParser.parse",
    "vllm.transformers_utils.configs.dbrx:DbrxAttentionConfig.__init__",
    "vllm.transformers_utils.configs.deepseek_vl2:DeepseekVLV2Config.__init__",
    "vllm.transformers_utils.configs.jais:JAISConfig.__init__",
    "vllm.transformers_utils.configs.mlp_speculator:MLPSpeculatorConfig",
    "vllm.transformers_utils.configs.mpt:MPTConfig.__init__",
    "vllm.triton_utils.allocation:set_triton_allocator",
    "vllm.v1.engine.core_client:EngineCoreClient.get_output_async",
    "vllm.v1.kv_cache_interface:KVQuantMode.is_nvfp4",
    "vllm.v1.metrics.loggers:AggregateStatLoggerBase.__init__",
    "vllm.worker.cache_engine:CacheEngine",
)

_ROW = """    Patch(
        name="target-{number}",
        body="patch_target",
        requires=("vllm>=0.1",),
        roles={{Role.MAIN}},
        changes=(Wrap("{target}", by="around"),),
        why="A question about a target.",
        upstream="none: nobody runs this",
        sunset="the measurement has ended",
    ),
"""
_BODY = """
def around(wrapped, instance, args, kwargs):
    return wrapped(*args, **kwargs)
"""


def write_pack(place: Path, pack: str) -> None:
    """Write a pack with a row for each target."""
    home = place / pack
    home.mkdir()
    (home / "patch_target.py").write_text(_BODY)
    rows = (_ROW.format(number=at, target=one) for at, one in enumerate(TARGETS))
    (home / "__init__.py").write_text(
        f"from patchkit import Patch, Role, Wrap\n\nPATCHES = (\n{''.join(rows)})\n"
    )
