"""Run a command for so long and no longer, and end all that it started, daemons included."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SET_CHILD_SUBREAPER, _SET_PDEATHSIG = 36, 1  # of Linux's prctl
_PATIENCE = 30
"""Seconds that a command has to clean up."""
_LOOK = 0.5


def adopt() -> None:
    """Become the parent of every descendant whose own parent is gone: none gets out of sight."""
    ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    log: Path,
    limit: float,
    tell: Callable[[str], None],
) -> int | None:
    """Run a command with its output in a file; return its exit status, None after `limit` seconds.

    `tell` hears each line that the command writes. Whatever ends the wait, Ctrl-C too, all
    processes below this one are gone afterwards.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for this process, which passes it on
            preexec_fn=_ending_with_its_parent(),  # noqa: PLW1509 - there is one thread
        )
    before = signal.signal(signal.SIGCHLD, lambda *_: _bury(process.pid))
    try:
        return _follow(process, log, limit, tell)
    finally:
        signal.signal(signal.SIGCHLD, before)
        _ask_to_end(process)
        end_all()


def _ending_with_its_parent() -> Callable[[], None]:
    """Return what a child does first: ask to be told to end, should this process be killed."""
    # Here, as a child that was just forked should not load anything.
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _bury(own: int) -> None:
    """Wait for adopted processes that have ended, so that whoever looks sees them gone."""
    for pid in set(_children()[os.getpid()]) - {own}:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _follow(
    process: subprocess.Popen[bytes],
    log: Path,
    limit: float,
    tell: Callable[[str], None],
) -> int | None:
    begun = ""
    with log.open(encoding="utf-8", errors="replace") as written:
        for _ in range(int(limit / _LOOK)):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK)
            *lines, begun = (begun + written.read()).split("\n")
            for line in lines:
                tell(line)
            if process.returncode is not None:
                return process.returncode
    return None


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)


def end_all() -> list[int]:
    """End every descendant of this process, and wait for it; return who there was."""
    ended: list[int] = []
    while left := descendants(os.getpid()):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            # Another's child, for a moment yet.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        ended += left
    return ended


def descendants(root: int) -> list[int]:
    """List the processes below one."""
    children = _children()
    found, layer = list[int](), [root]
    while layer:
        layer = [pid for parent in layer for pid in children[parent]]
        found += layer
    return found


def _children() -> Mapping[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            found[_parent(place)].append(int(place.name))
    return found


def _parent(place: Path) -> int:
    try:
        return int((place / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0
