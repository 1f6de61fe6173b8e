"""
Upstream: `_compiled_ray_dag` of vLLM 0.10.1 to 0.32 imports `register_accelerator_context` wherever
VLLM_USE_RAY_WRAPPED_PP_COMM is on, as it is by default. Ray has it since 2.48.
"""

from __future__ import annotations

from importlib.util import find_spec


def has_no_accelerator_context() -> bool | str:
    """Answer the row's `when`: True if this Ray does not have the module; a fork may have it."""
    if find_spec("ray.experimental.channel.accelerator_context") is None:
        return True
    return "this Ray has ray.experimental.channel.accelerator_context"
