"""Upstream: the function is not there."""

from typing import Any


def by(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Call the function."""
    return wrapped(*args, **kwargs)
