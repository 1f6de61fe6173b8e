"""Opens files that others may have put there: regular ones alone, and none that never ends."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from patchkit.errors import UpstreamError

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""How a file is opened: a pipe that nobody writes to is opened at once, and then refused."""


def open_plain(file: Path) -> BinaryIO:
    """Open a file for reading.

    Args:
        file: The file.

    Returns:
        The open file, at its beginning.

    Raises:
        OSError: It is not there, or may not be read.
        UpstreamError: It is a folder, a pipe, a socket or a device.
    """
    number = os.open(file, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise UpstreamError("it is no regular file")
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def read_plain(file: Path, limit: int) -> bytes:
    """Read a file.

    Args:
        file: The file.
        limit: How many bytes it may have.

    Returns:
        Its content.

    Raises:
        OSError: It is not there, or may not be read.
        UpstreamError: It is no regular file, or larger.
    """
    with open_plain(file) as stream:
        # A larger file, of which most may be a hole, is refused before anything of it is read.
        size = os.fstat(stream.fileno()).st_size
        content = b""
        if size <= limit:
            # None: it would be waited for, as `/proc/kmsg` is, which is called a regular file.
            content = stream.read(limit + 1) or b""
    if max(size, len(content)) > limit:
        raise UpstreamError(f"it has more than {limit:,} bytes")
    return content
