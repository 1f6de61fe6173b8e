"""A function that vLLM's module lacks, and a use of it by that name."""

from __future__ import annotations

from typing import Any

from rows.witness import seen


def blocks_of_rows(tokens: int, size: int) -> int:
    """How many blocks so many tokens take."""
    seen("new-function")
    return -(tokens // -size)


def allocate_slots(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Ask the new function before upstream does its work."""
    from vllm.v1.core import kv_cache_utils

    assert kv_cache_utils.blocks_of_rows(17, 16) == 2
    return wrapped(*args, **kwargs)
