"""A body that imports what another row provides, as if vLLM had it."""

from __future__ import annotations

from typing import Any

from vllm.v1.core.row_counter import count

from rows.witness import seen


def add_request(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Count the requests that run."""
    seen("needs-the-module", count(instance.running))
    return wrapped(*args, **kwargs)
