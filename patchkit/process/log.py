"""What patchkit says on stderr: one line each, at or above `PATCHKIT_LOG`."""

from __future__ import annotations

import os
import sys

LEVELS = ("debug", "info", "warning", "error", "critical")


def say(level: str, text: str, threshold: str = "warning") -> None:
    """
    Write one line to stderr; never raises, because talk must not stop a process.

    Args:
        level: one of LEVELS.
        text: without a line end.
        threshold: the quietest level to be heard, `Settings.log`.

    """
    if LEVELS.index(level) < LEVELS.index(threshold):
        return
    try:
        sys.stderr.write(f"patchkit[{os.getpid()}] {level}: {text}\n")
    except (OSError, ValueError, AttributeError):
        return  # stderr is closed or None
