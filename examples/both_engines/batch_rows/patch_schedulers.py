"""Counts the batches of a scheduler in a file, one character for each."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = os.environ.get("BATCH_ROWS", "")


def counted(
    wrapped: Callable[..., Any],
    instance: object,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Call the scheduler, and count that it was called in this process."""
    if FOLDER:
        name = f"{type(instance).__module__.partition('.')[0]}-{os.getpid()}"
        with Path(FOLDER, name).open("a") as file:
            file.write(".")
    return wrapped(*args, **kwargs)
