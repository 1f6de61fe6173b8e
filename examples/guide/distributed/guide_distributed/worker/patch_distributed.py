"""Upstream: `GroupCoordinator` has collectives, none of which gives each rank a slice of its own.
`destroy_model_parallel` destroys the groups that `parallel_state` knows, and no others.
"""

from typing import Any

import torch
from torch.distributed import ProcessGroup
from vllm.distributed.parallel_state import GroupCoordinator
from vllm.logger import init_logger

logger = init_logger(f"vllm.{__name__}")

_GROUPS: dict[str, ProcessGroup] = {}


def all_to_all(self: GroupCoordinator, input_: torch.Tensor) -> torch.Tensor:
    """Give the n-th slice of the first dimension to the n-th rank; return what came from each."""
    if self.unique_name not in _GROUPS:
        # A group of its own, made by its members only: exchanges do not queue behind other calls.
        _GROUPS[self.unique_name] = torch.distributed.new_group(
            self.ranks, use_local_synchronization=True
        )
    output = torch.empty_like(input_)
    torch.distributed.all_to_all_single(output, input_, group=_GROUPS[self.unique_name])
    return output


def destroy_model_parallel(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Destroy the groups of exchanges before those that they were made beside."""
    for name, group in _GROUPS.items():
        torch.distributed.destroy_process_group(group)
        logger.info("destroyed the exchange group of %s", name)
    _GROUPS.clear()
    return wrapped(*args, **kwargs)
