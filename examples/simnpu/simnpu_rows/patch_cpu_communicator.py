"""In 0.7.3, `CpuCommunicator.all_reduce` returns None (vllm/distributed/device_communicators)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def and_return_it(
    wrapped: Callable[..., Any],
    _instance: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Reduce in place, and return the tensor."""
    wrapped(*args, **kwargs)
    return args[0] if args else kwargs["input_"]
