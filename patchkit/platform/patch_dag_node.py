"""
Upstream: vLLM calls `DAGNode.experimental_compile` with `_overlap_gpu_communication`, which Ray has
since 2.39, and `DAGNode.with_tensor_transport`, which it has since 2.42.
"""

from __future__ import annotations

import inspect
from typing import Any

from ray.dag.dag_node import DAGNode
from ray.experimental.channel.torch_tensor_type import TorchTensorType

OVERLAP = "_overlap_gpu_communication"


def compiles_without_overlap() -> bool | str:
    """Answer the row's `when`: True if this Ray lacks the keyword, or the reason to skip the row.

    The row is for releases of Ray that lack it, but a fork of such a release may have it.
    """
    if OVERLAP not in inspect.signature(DAGNode.experimental_compile).parameters:
        return True
    return f"experimental_compile of this Ray takes {OVERLAP}"


def without_overlap(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """Compile without the keyword that this Ray lacks; RuntimeError if a caller sets it to true."""
    if kwargs.pop(OVERLAP, None):
        raise RuntimeError(
            f"found {OVERLAP}=True, which this Ray cannot do; unset "
            "VLLM_USE_RAY_COMPILED_DAG_OVERLAP_COMM, or use Ray 2.39 or later"
        )
    return wrapped(*args, **kwargs)


def has_no_tensor_transport() -> bool | str:
    """Answer the row's `when`: True if this Ray lacks the method, or the reason to skip the row.

    The row is for releases of Ray that lack it, but a fork of such a release may have it.
    """
    if not hasattr(DAGNode, "with_tensor_transport"):
        return True
    return "DAGNode of this Ray has with_tensor_transport"


def with_tensor_transport(self: Any, transport: Any = "auto") -> Any:
    """Set how the tensors in this node's output are sent, as the method of newer Rays does.

    `transport` is 'auto' for Ray's shared memory, or 'nccl'; RuntimeError for any other.
    """
    if transport == "auto":
        # Without a hint, torch pickles each tensor. This Ray's hint for shared memory converts to
        # numpy, which has no bfloat16 and takes no device but cuda.
        return self
    if transport != TorchTensorType.NCCL:
        raise RuntimeError(
            f"found the transport {transport!r}, expected 'auto' or 'nccl': this Ray has no other; "
            "see VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE"
        )
    return self.with_type_hint(TorchTensorType(transport=transport))
