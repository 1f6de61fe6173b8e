"""
Upstream: `vllm preload` starts daemons that load a worker's weights and process them; workers map
the tensors if the daemon's `WeightCacheKey` equals theirs. The key knows the checkpoint, the
configuration and vLLM's version, and no patches (vLLM 0.33). A patch of loading or quantisation
that a daemon lacks, or has in another version, would be missing from the weights unnoticed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from patchkit import Role
from patchkit.runtime.reach.arming import current


def with_patches(wrapped: Any, _: Any, args: Any, kwargs: Any) -> Any:
    """Add the digest of the worker's patches to the version; a worker then loads for itself."""
    key = wrapped(*args, **kwargs)
    digest = session.digest(Role.WORKER) if (session := current()) else ""
    if not digest:
        return key
    return replace(key, vllm_version=f"{key.vllm_version}, patches {digest}")
