"""Upstream: each line of log begins with the name of its process, such as `(EngineCore pid=8)`."""

import multiprocessing
import os
from typing import Any


def decorate_logs(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Name the machine beside the process: `(EngineCore@node7 pid=8)` with `LOG_NODE=node7`."""

    def decorate(process_name: str | None = None, **options: Any) -> Any:
        name = process_name or multiprocessing.current_process().name
        return wrapped(f"{name}@{os.environ['LOG_NODE']}", **options)

    return decorate(*args, **kwargs)
