"""
Upstream: `_compiled_ray_dag` sets RAY_CGRAPH_get_timeout to 300 unless it is set. Up to 2.40, Ray
reads RAY_DAG_retrieval_timeout and RAY_DAG_execution_timeout instead, and that when `ray.dag` is
imported; both are 10 s where they are not set.
"""

from __future__ import annotations

import os
from typing import Any

from ray.dag import DAGContext

NEW_NAME = "RAY_CGRAPH_get_timeout"
SECONDS = "300"
FIELDS = ("execution_timeout", "retrieval_timeout")


def has_old_time_outs() -> bool | str:
    """Whether this Ray has the old names; a fork may have the new."""
    if all(hasattr(DAGContext, field) for field in FIELDS):
        return True
    return "DAGContext of this Ray reads RAY_CGRAPH_get_timeout"


def with_time_outs(wrapped: Any, _instance: Any, args: Any, kwargs: Any) -> Any:
    """Give the graph as long as vLLM means it to have, unless somebody has set a time-out."""
    context = DAGContext.get_current()
    for field in FIELDS:
        is_untouched = getattr(context, field) == getattr(DAGContext, field)
        if is_untouched and f"RAY_DAG_{field}" not in os.environ:
            setattr(context, field, int(os.environ.get(NEW_NAME, SECONDS)))
    return wrapped(*args, **kwargs)
