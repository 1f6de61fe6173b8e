"""A command that is run to see how it ends, and leaves nothing running: for `patchkit bisect`."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from patchkit.cli.process_options import set_process_option
from patchkit.errors import BisectionError

TIMED_OUT = 124
"""Stands for a command that was ended, as with coreutils' `timeout`."""

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def run_alone(
    words: Sequence[str], environ: Mapping[str, str], log: Path, timeout: float | None
) -> tuple[int, float]:
    """Run a command, its output to a file; return its exit code (or negative signal) and seconds.

    What it has started ends with it, in whatever session that is; on a system without /proc, only
    its process group. BisectionError if it cannot be run.
    """
    others, started = _children(), time.monotonic()
    set_process_option(_ADOPT_ORPHANS, 1)
    try:
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - the user's own command
                words,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            with suppress(OSError):  # all have ended
                os.killpg(process.pid, signal.SIGKILL)
    except OSError as error:
        raise BisectionError(f"{error.filename}: cannot be run: {error.strerror}") from error
    finally:
        _end_rest(others)
    return code, time.monotonic() - started


def _end_rest(others: set[int]) -> None:
    """End what is left: the children of each that ends become children of this process."""
    while left := _children() - others:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _children() -> set[int]:
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_text(errors="replace").rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(entry.parent.name))
    return found
