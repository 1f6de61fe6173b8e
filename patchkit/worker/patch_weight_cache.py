"""
Upstream: `vllm preload` starts daemons that load and process weights for workers. A worker maps the
daemon's tensors if its `WeightCacheKey` equals the daemon's, or else loads the weights itself. The
key consists of the checkpoint, the configuration and vLLM's version (vLLM 0.33). A daemon without
the worker's patches of loading or quantisation has the same key, so its weights would be used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from patchkit import Role
from patchkit.runtime.reach.arming import current


def with_patches(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Run around `WeightCacheKey.from_model_config`: add the worker's patches to the key.

    Their digest is appended to `vllm_version`, so that the key equals that of a daemon only if the
    daemon has the same patches. Without a session, or without patches for workers, the key is
    unchanged.
    """
    key = wrapped(*args, **kwargs)
    # The condition is evaluated first: without a session there is no digest.
    digest = session.digest(Role.WORKER) if (session := current()) else ""
    if not digest:
        return key
    return replace(key, vllm_version=f"{key.vllm_version}, patches {digest}")
