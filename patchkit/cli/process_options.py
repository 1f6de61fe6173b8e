"""Options of this process that only Linux has."""

import ctypes
from contextlib import suppress


def set_process_option(option: int, value: int) -> None:
    """Call Linux's `prctl`; elsewhere there is none, and this does nothing."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value)
