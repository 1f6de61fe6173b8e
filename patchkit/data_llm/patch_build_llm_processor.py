"""Upstream: `build_processor` of Ray 2.56 takes what `build_llm_processor` took up to 2.55."""

from typing import Any

import ray.data.llm


def is_renamed() -> bool | str:
    """Answer the row's `when`: True if there is the function with the new name."""
    if hasattr(ray.data.llm, "build_processor"):
        return True
    return "this ray.data.llm has no build_processor"


def build_llm_processor(*args: Any, **kwargs: Any) -> Any:
    """Build a processor: `ray.data.llm.build_processor` under its old name."""
    return ray.data.llm.build_processor(*args, **kwargs)
