"""Counts calls in a file that is mapped into memory, so that a killed process loses no counts."""

import mmap
import os
import struct
from collections.abc import Callable
from functools import partial
from itertools import count

_SLOT = "<Q"  # for `struct`: an unsigned number of 8 bytes
_WIDTH = struct.calcsize(_SLOT)


class Counters:
    """One number for each target of a probe, in one process.

    Args:
        path: The file to make; if that fails, the counts are lost when the process ends.
        size: The number of targets.
    """

    def __init__(self, path: str, size: int) -> None:
        self._slots = _map_file(path, size * _WIDTH)

    def counter(self, index: int) -> Callable[[], object]:
        """Return a function that counts one call each time it is called.

        It is the `__next__` of a `map` that writes 1, 2, … into the file. That runs in C from the
        next number to its writing, so no other thread, signal handler or finalizer comes between:
        no call is lost, and no lock is needed.

        Args:
            index: The number of the target.
        """
        write = partial(struct.pack_into, _SLOT, self._slots, index * _WIDTH)
        return map(write, count(1)).__next__


def _map_file(path: str, length: int) -> mmap.mmap:
    """Make a file of zeros and map it; map memory without a file if it cannot be made."""
    try:
        folder = os.path.dirname(path)  # noqa: PTH120 - no pathlib at a start
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return mmap.mmap(-1, length)
    try:
        os.ftruncate(fd, length)
        return mmap.mmap(fd, length)
    except OSError:
        return mmap.mmap(-1, length)
    finally:
        os.close(fd)
