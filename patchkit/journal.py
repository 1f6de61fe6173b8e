"""
What happened in this process, written for other processes to read.

One file a process, one JSON object a line. The file is opened for appending for each line, as a
process may close all its descriptors or change its folder: it leaves whole lines, or at worst one
torn last line.
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
        self.directory = directory and os.path.abspath(directory)  # noqa: PTH100
        self._begin()

    def write(self, event: str, **fields: Any) -> None:
        """Add an entry; `fields` must be what JSON can hold."""
        entry = {"event": event, "time": time.time(), "pid": os.getpid(), **fields}
        self.entries.append(entry)
        if self.directory is not None:
            self._append(self.directory, entry)

    def after_fork(self) -> None:
        """Start a journal of the child's own."""
        self._begin()

    def _begin(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._name = f"{os.uname().nodename}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._size = 0

    def _append(self, directory: str, entry: dict[str, Any]) -> None:
        import json  # noqa: PLC0415 - 4 ms of a start that few processes need

        line = json.dumps(entry, separators=(",", ":"), default=str).encode() + b"\n"
        is_new, self._size = self._size == 0, self._size + len(line)
        if self._size > MAX_BYTES:
            return
        try:
            if is_new:
                os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103
            _append_to(f"{directory}/{self._name}", line)
        except OSError as error:
            say("warning", f"PATCHKIT_JOURNAL={directory}: cannot be written: {error}")
            self.directory = None


def _append_to(path: str, line: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)


def process_facts() -> dict[str, Any]:
    """Say who this process is: host, pids and command line."""
    return {
        "host": os.uname().nodename,
        "ppid": os.getppid(),
        "argv": list(getattr(sys, "argv", ())),
        "executable": sys.executable,
        "python": sys.version.split()[0],
    }
