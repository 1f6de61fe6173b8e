"""Upstream: each of the functions is called in one kind of process: the tokenizer manager's in the
process that launches the others, the detokenizer's in its own, the other two in the scheduler's.
"""

import os
from pathlib import Path
from typing import Any


def counted(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Leave a file with the name of the function and the pid, and call the function."""
    folder = os.environ.get("ROWS_OF_SGLANG")
    if folder:
        (Path(folder) / f"{wrapped.__name__}-{os.getpid()}").touch()
    return wrapped(*args, **kwargs)
