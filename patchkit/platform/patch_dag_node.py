"""
Upstream: what vLLM asks of `DAGNode`, and Ray has had since 2.39 (`_overlap_gpu_communication` of
`experimental_compile`) and 2.42 (`with_tensor_transport`).
"""

from __future__ import annotations

import inspect
from typing import Any

from ray.dag.dag_node import DAGNode
from ray.experimental.channel.torch_tensor_type import TorchTensorType

OVERLAP = "_overlap_gpu_communication"


def compiles_without_overlap() -> bool | str:
    """Whether this Ray does not know the keyword; a fork may."""
    if OVERLAP not in inspect.signature(DAGNode.experimental_compile).parameters:
        return True
    return f"experimental_compile of this Ray takes {OVERLAP}"


def without_overlap(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """Drop the keyword where it asks for nothing."""
    if kwargs.pop(OVERLAP, None):
        raise RuntimeError(
            f"found {OVERLAP}=True, which this Ray cannot do; unset "
            "VLLM_USE_RAY_COMPILED_DAG_OVERLAP_COMM, or use Ray 2.39 or later"
        )
    return wrapped(*args, **kwargs)


def has_no_tensor_transport() -> bool | str:
    """Whether this Ray lacks the method; a fork may have it."""
    if not hasattr(DAGNode, "with_tensor_transport"):
        return True
    return "DAGNode of this Ray has with_tensor_transport"


def with_tensor_transport(self: Any, transport: Any = "auto") -> Any:
    """Say how the tensors in this node's output travel: by Ray's shared memory, or by NCCL."""
    if transport == "auto":
        # No hint: each tensor is pickled as torch does it. This Ray's own hint for shared memory
        # goes by way of numpy, which has neither bfloat16 nor devices other than cuda.
        return self
    if transport != TorchTensorType.NCCL:
        raise RuntimeError(
            f"found the transport {transport!r}, expected 'auto' or 'nccl': this Ray has no other; "
            "see VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE"
        )
    return self.with_type_hint(TorchTensorType(transport=transport))
