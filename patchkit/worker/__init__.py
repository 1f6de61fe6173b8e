"""
Patches for the processes that hold the model.

A row belongs here if it mends a fault of vLLM that only workers have. What has to be done before a
process is known to be a worker is in `patchkit.platform`, for every role: to import the device
backend right after torch, and to send patchkit along with Ray's actors. examples/guide/distributed
shows a larger pack of this kind.
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
