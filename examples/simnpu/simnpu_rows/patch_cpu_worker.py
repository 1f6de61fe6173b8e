"""Up to 0.22, `CPUWorker.init_device` leaves `device` None (vllm/v1/worker/cpu_worker.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def and_name_the_device(
    wrapped: Callable[..., Any],
    instance: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Do what it does, then say where it computes."""
    result = wrapped(*args, **kwargs)
    instance.device = torch.device("cpu")
    return result
