"""Lets a measurement close what it has opened, whatever ends its process."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from patchkit.cli.process_options import set_process_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_SIGNAL_OF_PARENTS_DEATH = 1  # PR_SET_PDEATHSIG


@contextmanager
def in_order() -> Iterator[None]:
    """End this process by SIGTERM only after the block has been left, as Ctrl-C does.

    It also gets SIGTERM when the process dies that has started it: servers in sessions of their own
    would outlive both.
    """
    former = signal.signal(signal.SIGTERM, _leave)
    set_process_option(_SIGNAL_OF_PARENTS_DEATH, signal.SIGTERM)
    try:
        yield
    except SystemExit:
        # Whoever runs the block, such as a pool, might go on after an exception.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, former)


def _leave(number: int, _: FrameType | None) -> NoReturn:
    """Leave the block, undisturbed by the same signal: a parent that gets it, too, dies of it."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(1)
