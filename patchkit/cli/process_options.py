"""Sets options of this process that only Linux has."""

import ctypes
from contextlib import suppress


def set_process_option(option: int, value: int) -> None:
    """Call Linux's `prctl`; on other systems, which lack it, this does nothing.

    Args:
        option: The number of the option, as `sys/prctl.h` defines it.
        value: Its new value.
    """
    # None: the C library, which Python itself has loaded.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value)
