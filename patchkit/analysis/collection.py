"""Turns the garbage collector off for work that makes many objects and leaves no circles."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Turn the garbage collector off for a `with` block.

    It would scan millions of nodes of syntax trees, or hundreds of thousands of parts of journals,
    again and again, which may take longer than all other work. There is little to collect: files
    and releases whose sources are forgotten leave no reference cycles, and neither do journals.

    Yields:
        Nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
