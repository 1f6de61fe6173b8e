"""
Upstream: `_compiled_ray_dag` sets RAY_CGRAPH_get_timeout to 300 unless it is set. Up to 2.40, Ray
reads RAY_DAG_retrieval_timeout and RAY_DAG_execution_timeout instead; both are 10 s if they are not
set. Ray reads these variables when `ray.dag` is imported, so nothing here may import it before
vLLM's variable is set: a fork of Ray that reads the new name would not see the value.
"""

from __future__ import annotations

import os
from typing import Any

NEW_NAME = "RAY_CGRAPH_get_timeout"
SECONDS = "300"
FIELDS = ("execution_timeout", "retrieval_timeout")


def with_time_outs(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """Set Ray's old time-outs to vLLM's value, unless a user has set them, and build the graph."""
    # The wrapped method would set the same value, but the lines below need it before that.
    os.environ.setdefault(NEW_NAME, SECONDS)
    from ray.dag import DAGContext  # noqa: PLC0415 - reads the variable when it is imported

    context = DAGContext.get_current()
    for field in FIELDS:
        if _is_untouched(context, field):
            setattr(context, field, int(os.environ[NEW_NAME]))
    return wrapped(*args, **kwargs)


def _is_untouched(context: Any, field: str) -> bool:
    """Whether this Ray has an old time-out, which neither a variable nor code has changed."""
    if not hasattr(context, field) or f"RAY_DAG_{field}" in os.environ:
        return False
    # The class attribute is the default; each context starts with a copy of it.
    return bool(getattr(context, field) == getattr(type(context), field))
