"""Counts calls in a file that is mapped into memory: what a killed process has counted stays."""

import mmap
import os
import struct
from collections.abc import Callable
from functools import partial
from itertools import count

_SLOT = "<Q"
_WIDTH = struct.calcsize(_SLOT)


class Counters:
    """One number for each target of a probe, in one process.

    Args:
        path: The file, which is made; where it cannot be, the counts are lost with the process.
        size: How many numbers there are.
    """

    def __init__(self, path: str, size: int) -> None:
        self._slots = _map_file(path, size * _WIDTH)

    def counter(self, index: int) -> Callable[[], object]:
        """Return a function that counts one call, from 1 on, each time it is called.

        It advances and writes within one call of C code, so that no other thread, signal handler
        or finalizer comes between: none is lost, and no lock is needed.

        Args:
            index: Which of the numbers it is.
        """
        write = partial(struct.pack_into, _SLOT, self._slots, index * _WIDTH)
        return map(write, count(1)).__next__


def _map_file(path: str, length: int) -> mmap.mmap:
    """Make a file of zeros and map it; map memory alone where the file cannot be made."""
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
