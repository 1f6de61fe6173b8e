"""Sets options of this process that only Linux has."""

import ctypes
from contextlib import suppress


def set_process_option(option: int, value: int) -> None:
    """Call Linux's `prctl`; on other systems, which lack it, this does nothing.

    Args:
        option: The number of the option, as `sys/prctl.h` defines it.
        value: Its new value.
    """
    with suppress(OSError, AttributeError):
        c_library = ctypes.CDLL(None)  # None: the one that Python itself has loaded
        c_library.prctl(option, value)
