"""Up to 0.9, a worker loads its weights onto `DeviceConfig.device` (vllm/worker/worker_base.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


def on_cpu(
    wrapped: Callable[..., Any],
    instance: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> None:
    """Compute on the CPU; the configuration has arrived by now."""
    wrapped(*args, **kwargs)
    instance.device_config.device = torch.device("cpu")
