"""
Patches for the processes that hold the model.

What else workers have needed begins before a process is a worker: the device backend is imported
right after torch, and Ray's actors carry patchkit before their class is loaded. Those rows are in
`patchkit.platform`, for every role. A row comes here with a fault of vLLM that was seen in a
worker, and goes with its sunset. examples/guide/distributed is what such a pack looks like.
"""

from patchkit.core.rows.declaration import Patch, Wrap

_KEY = "vllm.model_executor.model_loader.weight_cache.protocol:WeightCacheKey.from_model_config"

PATCHES: tuple[Patch, ...] = (
    Patch(
        name="weight-cache-knows-patches",
        body="patch_weight_cache",
        requires=("vllm>=0.33,<0.34",),
        changes=(Wrap(_KEY, by="with_patches"),),
        why=(
            "Workers map the weights that a daemon of `vllm preload` has loaded and processed. The "
            "cache's key does not know patches, so a worker may get weights from a daemon that "
            "lacks them."
        ),
        upstream="none: upstream knows no patches",
        sunset="the key of vLLM's weight cache covers vllm_config.additional_config",
    ),
)
