"""Log calls that take long."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = float(os.environ.get("ACME_SLOW_SECONDS", "0.5"))


def timed(
    wrapped: Callable[..., Any],
    instance: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call upstream's function, and warn if that took longer than the limit."""
    began = time.monotonic()
    try:
        return wrapped(*args, **kwargs)
    finally:
        if (took := time.monotonic() - began) > LIMIT:
            logging.getLogger("vllm.acme").warning(
                "%s took %.1f s", wrapped.__qualname__, took
            )
