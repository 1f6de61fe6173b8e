"""
What happened in this process, written for other processes to read.

One file a process, one JSON object a line, each line one write to a descriptor opened for
appending: a process that is killed leaves whole lines, or at worst one torn last line.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from patchkit.log import say

MAX_BYTES = 4 * 1024 * 1024
"""A journal grows no further; a process makes a few dozen entries of a few hundred bytes."""


class Journal:
    """
    The entries of one process, kept in memory and, where a directory is given, in a file.

    A journal that cannot be written never changes what the process does: it says so once on
    stderr and goes on in memory.

    Args:
        directory: where to write `<host>-<pid>-<start>.jsonl`, made if it is not there.

    """

    def __init__(self, directory: str | None = None) -> None:
        self.directory = directory
        self.entries: list[dict[str, Any]] = []
        self._fd: int | None = None
        self._written = 0
        self._pid = os.getpid()

    def write(self, event: str, **fields: Any) -> None:
        """Add an entry; `fields` must be what JSON can hold."""
        entry = {"event": event, "time": time.time(), "pid": os.getpid(), **fields}
        self.entries.append(entry)
        if self.directory is not None:
            self._append(entry)

    def after_fork(self) -> None:
        """Start a journal of the child's own."""
        self._close()
        self.entries = []
        self._written = 0
        self._pid = os.getpid()

    def _append(self, entry: dict[str, Any]) -> None:
        import json  # noqa: PLC0415 - 4 ms of a start that few processes need

        line = json.dumps(entry, separators=(",", ":"), default=str).encode() + b"\n"
        if self._written + len(line) > MAX_BYTES:
            return
        try:
            if self._fd is None:
                self._fd = self._open()
            os.write(self._fd, line)
            self._written += len(line)
        except OSError as error:
            say("warning", f"PATCHKIT_JOURNAL={self.directory}: cannot be written: {error}")
            self.directory = None

    def _open(self) -> int:
        assert self.directory is not None
        os.makedirs(self.directory, mode=0o700, exist_ok=True)  # noqa: PTH103
        name = f"{os.uname().nodename}-{self._pid}-{time.time_ns()}.jsonl"
        path = os.path.join(self.directory, name)  # noqa: PTH118
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        return _above_std(fd)

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _above_std(fd: int) -> int:
    """Keep clear of 0 to 2, which a process that starts without them may still claim."""
    if fd > 2:
        return fd
    import fcntl  # noqa: PLC0415

    high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return high


def process_facts() -> dict[str, Any]:
    """Say who this process is: host, pids and command line."""
    return {
        "host": os.uname().nodename,
        "ppid": os.getppid(),
        "argv": list(getattr(sys, "argv", ())),
        "executable": sys.executable,
        "python": sys.version.split()[0],
    }
