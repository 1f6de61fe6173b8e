"""Runs a command for `patchkit bisect`, and ends every process that it leaves running."""

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
"""The exit code of a command that took too long, as of coreutils' `timeout`."""

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def run_alone(
    command: Sequence[str], environ: Mapping[str, str], log: Path, timeout: float | None
) -> tuple[int, float]:
    """Run a command, and end every process that it has started, even in other sessions.

    On a system without /proc, only the processes of its process group are ended.

    Args:
        command: The program and its arguments.
        environ: Its environment.
        log: The file that its output is written to.
        timeout: The seconds after which it is ended, or None for no limit.

    Returns:
        Its exit code, or the negative number of the signal that ended it; and its duration in
        seconds.

    Raises:
        BisectionError: It cannot be run.
    """
    children_before = _children()
    started = time.monotonic()
    # If a process of the command outlives its parent, it becomes a child of this process, which
    # then can end it.
    set_process_option(_ADOPT_ORPHANS, 1)
    try:
        code = _run(command, environ, log, timeout)
    except OSError as error:
        raise BisectionError(
            f"{error.filename}: cannot be run: {error.strerror}"
        ) from error
    finally:
        _end_children_except(children_before)
    return code, time.monotonic() - started


def _run(
    command: Sequence[str], environ: Mapping[str, str], log: Path, timeout: float | None
) -> int:
    """Run a command in a process group of its own, end that group, and return the exit code."""
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    finally:
        with suppress(OSError):  # no process of the group is left
            os.killpg(process.pid, signal.SIGKILL)


def _end_children_except(children_before: set[int]) -> None:
    """End the children of this process that it has not had before.

    The children of each process that ends become children of this process, and are ended next.
    """
    new_children = _children() - children_before
    while new_children:
        for pid in new_children:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        new_children = _children() - children_before


def _children() -> set[int]:
    """Return the children of this process, by /proc."""
    children = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if _parent_in(file.read_text(errors="replace")) == os.getpid():
                children.add(int(file.parent.name))
    return children


def _parent_in(stat: str) -> int:
    """Return the parent's pid in the text of `/proc/PID/stat`: `7 (name) S PARENT …`."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[1])
