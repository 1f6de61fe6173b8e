"""Upstream: `build_processor` of Ray 2.56 takes what `build_llm_processor` took up to 2.55."""

from typing import Any

import ray.data.llm


def is_renamed() -> bool | str:
    """Whether there is a function to call in place of the one that is gone."""
    if hasattr(ray.data.llm, "build_processor"):
        return True
    return "this ray.data.llm has no build_processor"


def build_llm_processor(*args: Any, **kwargs: Any) -> Any:
    """Build a processor: `ray.data.llm.build_processor` under its old name."""
    return ray.data.llm.build_processor(*args, **kwargs)
