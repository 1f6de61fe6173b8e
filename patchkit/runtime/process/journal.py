"""Writes what happens in this process, for other processes to read.

One file a process, one JSON object a line. The file is opened for appending for each line, as a
process may close all its descriptors or change its folder: it leaves whole lines, or at worst one
torn last line. A folder may be somebody else's: only a file that this process has made is written
to, whatever stands under its name later, and no link is followed. A file that somebody deletes is
written again from memory, so that it still says who the process is and what is applied.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from patchkit.runtime.process.roles import asked_by, command_line
from patchkit.settings import LEVELS

MAX_BYTES = 4 * 1024 * 1024
"""A journal grows no further; a process makes a few dozen entries of a few hundred bytes."""

MAX_ENTRIES = 10_000
"""In memory; a process may start children all its life. The first tenth stays, as it says who the
process is and what was applied; of the others the oldest go."""

_ROOM_FOR_FULL = 100
"""For the line that says that there is no more."""

_VERIFIED = '{{"event":"verified","time":{:.6f},"pid":{}}}\n'

# A FIFO that stands there is an error at once, not a wait for its reader.
_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Journal:
    """The entries of one process, kept in memory and, where a directory is given, in a file there.

    A journal that cannot be written never changes what the process does: it says so once on
    stderr and goes on in memory. What can be written again later, after a disk was full, is.

    Args:
        directory: The folder; it is made if it is not there. None for memory only. A relative one
            is below the folder that the process is in now.
    """

    def __init__(self, directory: str | None = None) -> None:
        self.directory: str | None = None
        if directory is not None:
            self.directory = _absolute(directory)
        self.after_fork()

    @property
    def path(self) -> str | None:
        """The file of this process; None without a directory. It is made with the first entry."""
        if self.directory is None:
            return None
        return f"{self.directory}/{self._name}"

    def write(self, event: str, **fields: Any) -> None:
        """Add an entry.

        Args:
            event: What happened.
            **fields: What there is to say of it; what JSON cannot hold is written as text.
        """
        entry = {"event": event, "time": time.time(), "pid": os.getpid(), **fields}
        self.entries.append(entry)
        if len(self.entries) > MAX_ENTRIES:
            del self.entries[MAX_ENTRIES // 10]
        if self.directory is not None and not self._is_full:
            self._append(self.directory, _line(entry))

    def after_fork(self) -> None:
        """Begin a journal of the child's own."""
        self.entries: list[dict[str, Any]] = []
        self._name = f"{os.uname().nodename}-{os.getpid()}-{time.time_ns()}.jsonl"
        self._making = threading.RLock()  # a child's own, whoever held the parent's
        self._file: tuple[int, int] | None = None
        self._size = 0
        self._is_full = self._is_torn = self._has_told = False
        self._verified: int | None = None

    def verified(self) -> None:
        """Note a look, just now, at what is applied: one line, which each look writes over."""
        if self.directory is None:
            return
        line = _VERIFIED.format(time.time(), os.getpid()).encode()
        if self._verified is not None and self._overwrite(
            self.directory, self._verified, line
        ):
            return
        if not self._is_full and self._append(self.directory, line):
            self._verified = self._size - len(line)

    def _append(self, directory: str, line: bytes) -> bool:
        """Append a line to the file; where that is gone, write all entries to a new one.

        Returns:
            Whether the line is the last of the file.
        """
        if self._size + len(line) > MAX_BYTES - _ROOM_FOR_FULL:
            self._is_full = True
            line = _line({"event": "full", "time": time.time()})
        if self._is_torn:
            line = b"\n" + line  # what is whole is not glued to what is not
        try:
            with self._making:
                if self._file is None:
                    self._make(directory)
            self._write(directory, line)
        except FileNotFoundError as error:
            if self._file is None:
                self._tell(directory, error)
            else:
                self._write_again(directory)
            return False
        except OSError as error:
            self._tell(directory, error)
            return False
        return True

    def _write(self, directory: str, lines: bytes) -> None:
        with self._opened(directory, os.O_WRONLY | os.O_APPEND) as fd:
            written = os.write(fd, lines)
            # Another thread may have written too.
            self._size = os.lseek(fd, 0, os.SEEK_CUR)
        self._is_torn = written < len(lines)

    def _write_again(self, directory: str) -> None:
        """Begin a new file with the entries in memory: somebody has tidied up."""
        self._verified = None
        lines = b"".join(map(_line, self.entries))[: MAX_BYTES - _ROOM_FOR_FULL]
        whole_lines = lines[: lines.rfind(b"\n") + 1]
        try:
            with self._making:
                self._file = None
                self._make(directory)
            self._write(directory, whole_lines)
        except OSError as error:
            self._tell(directory, error)

    def _tell(self, directory: str, error: OSError) -> None:
        """Say on stderr that the journal cannot be written, once."""
        if self._has_told:
            return
        self._has_told = True
        say("warning", f"PATCHKIT_JOURNAL={directory}: cannot be written: {error}")

    def _overwrite(self, directory: str, at: int, line: bytes) -> bool:
        try:
            with self._opened(directory, os.O_RDWR) as fd:
                former = os.pread(fd, len(line), at)
                same = len(former) == len(line) and former[:25] == line[:25]
                if not same or not former.endswith(b"\n"):
                    return False
                return os.pwrite(fd, line, at) == len(line)
        except OSError:
            return False

    def _make(self, directory: str) -> None:
        os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103
        folder = os.lstat(directory)
        if stat.S_ISLNK(folder.st_mode) and folder.st_uid not in {0, os.geteuid()}:
            raise OSError(
                f"it is a link of another user (uid {folder.st_uid}), expected a folder"
            )
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
        fd = os.open(f"{directory}/{self._name}", new, 0o600)
        self._file = _identity(fd)
        os.close(fd)

    @contextmanager
    def _opened(self, directory: str, mode: int) -> Iterator[int]:
        path = f"{directory}/{self._name}"
        fd = os.open(path, mode | _SAFELY)
        try:
            if _identity(fd) != self._file:
                raise OSError(
                    f"{path} is no longer the file that this process has made"
                )
            yield fd
        finally:
            os.close(fd)


def _absolute(directory: str) -> str | None:
    """Return a folder's whole path; None, with a warning, where it is below one that is gone."""
    try:
        return os.path.abspath(directory)  # noqa: PTH100
    except FileNotFoundError:
        reason = "it is below the current folder, which is gone"
        say("warning", f"PATCHKIT_JOURNAL={directory}: cannot be written: {reason}")
        return None


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _line(entry: dict[str, Any]) -> bytes:
    import json  # noqa: PLC0415 - 4 ms of a start that few processes need

    try:
        text = json.dumps(entry, separators=(",", ":"), default=str)
    except Exception as error:  # noqa: BLE001 - a strange object stops no process
        essentials = {name: entry[name] for name in ("event", "time", "pid")}
        text = json.dumps({**essentials, "unwritten": type(error).__name__})
    return text.encode() + b"\n"


def process_facts() -> dict[str, Any]:
    """Gather who this process is: host, pids and command line.

    Returns:
        The facts by name. `began` with the pid tells the process from an earlier one of the same
        number, and is the same after an `exec`; `asked_by` is the process that asked Ray for it.
    """
    return {
        "format": 1,  # which `status` reads
        "host": os.uname().nodename,
        "ppid": os.getppid(),
        "began": _began(),
        "asked_by": asked_by(os.environ),
        "argv": command_line(),
        "executable": sys.executable,
        "python": sys.version.split()[0],
    }


def _began() -> int | None:
    """Clock ticks from the start of the machine to that of this process, as /proc tells."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - every start pays
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def say(level: str, text: str, threshold: str = "warning") -> None:
    """Write one line to stderr; never raises, because talk must not stop a process.

    Args:
        level: One of `LEVELS`.
        text: The message.
        threshold: The lowest level that is written.
    """
    if LEVELS.index(level) < LEVELS.index(threshold):
        return
    try:
        sys.stderr.write(f"patchkit[{os.getpid()}] {level}: {text}\n")
    except (OSError, ValueError, AttributeError):
        return  # stderr is closed or None
