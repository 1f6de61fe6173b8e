"""Writes what happens in this process to a file that other processes read.

Each process has a file, with one JSON object per line. It is opened again for each line, as a
process may close all its descriptors or change its folder. A process that is killed leaves whole
lines, or at worst one torn last line.

The folder may belong to another user: only the file that this process has made is written to, even
if another one has its name later, and no link is followed. If the file is deleted or truncated, the
entries are written again, so that it still says what the process is and what is applied. An entry
that could not be written, as on a full disk, is written before the next one.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from patchkit.runtime.process.roles import asked_by, command_line
from patchkit.settings import LEVELS

MAX_BYTES = 4 * 1024 * 1024
"""Size at which a journal ends; a process usually writes a few dozen entries of some 100 bytes."""

MAX_ENTRIES = 10_000
"""How many entries stay in memory, as a process may start children all its life. The first tenth
is kept, which says what the process is and what was applied; of the others, the oldest go."""

_BYTES_FOR_FULL = 100
"""Space for the line that says that a journal has reached its limit."""

_URGENT = frozenset({"patch", "overwritten", "disagreement"})
"""What a journal that has reached its limit still takes, in the last sixty-fourth of its size: a
patch that fails then must not be told as applied."""

_VERIFIED_LINE = '{{"event":"verified","time":{:.6f},"pid":{}}}\n'

# O_NONBLOCK: if the file is a FIFO, opening it fails instead of waiting for a reader.
_SAFE_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Journal:
    """The entries of one process, kept in memory and, where a directory is given, in a file there.

    A journal that cannot be written does not disturb the process: it warns once on stderr, keeps
    entries in memory, and tries to write them again with the next one.

    Args:
        directory: The folder, which is made if it does not exist; None for memory only. A relative
            path starts from the current folder.
    """

    def __init__(self, directory: str | None = None) -> None:
        self.directory: str | None = None
        if directory is not None:
            self.directory = _absolute(directory)
        self.after_fork()  # begins the journal

    @property
    def path(self) -> str | None:
        """The file of this process, made with the first entry; None without a directory."""
        if self.directory is None:
            return None
        return f"{self.directory}/{self._name}"

    def write(self, event: str, **fields: Any) -> None:
        """Add an entry.

        Args:
            event: What happened.
            **fields: Facts about it; a value that JSON cannot represent is written as text.
        """
        entry = {"event": event, "time": time.time(), "pid": os.getpid(), **fields}
        self.entries.append(entry)
        if len(self.entries) > MAX_ENTRIES:  # the oldest goes, after the first tenth
            del self.entries[MAX_ENTRIES // 10]
        if self.directory is not None and (not self._is_full or event in _URGENT):
            self._append(self.directory, _line(entry))

    def after_fork(self) -> None:
        """Begin a new journal, in a forked child or at first."""
        self.entries: list[dict[str, Any]] = []
        self._name = f"{os.uname().nodename}-{os.getpid()}-{time.time_ns()}.jsonl"
        # New in a child: another thread may have held the parent's.
        self._make_lock = threading.RLock()
        self._file: tuple[int, int] | None = None  # device and inode
        self._size = 0
        self._is_full = self._is_torn = self._has_warned = False
        self._unwritten = b""  # the lines of entries that could not be written
        # The offset of the line that `verified` has written.
        self._verified_at: int | None = None

    def verified(self) -> None:
        """Record the time of a look at the patches, in one line that each look overwrites."""
        if self.directory is None:
            return
        line = _VERIFIED_LINE.format(time.time(), os.getpid()).encode()
        if self._verified_at is not None and self._overwrite(
            self.directory, self._verified_at, line
        ):
            return
        if not self._is_full and self._append(self.directory, line, is_kept=False):
            self._verified_at = self._size - len(line)

    def _append(self, directory: str, line: bytes, *, is_kept: bool = True) -> bool:
        """Append a line to the file; if that was deleted, write all entries to a new one.

        Args:
            directory: The folder.
            line: The line.
            is_kept: Whether it is written later if it cannot be now.

        Returns:
            Whether the line was appended, so that it is the last one.
        """
        lines = kept = self._unwritten + line
        if not is_kept:
            kept = self._unwritten
        size = self._size + len(lines)
        if self._is_full and size > MAX_BYTES:
            return False
        becomes_full = not self._is_full and size > _room()
        if becomes_full:
            lines = kept = _line({"event": "full", "time": time.time()})
        self._unwritten = b""
        try:
            with self._make_lock:
                if self._file is None:
                    self._make_file(directory)
            self._write(directory, lines)
        except OSError as error:
            was_deleted = (
                isinstance(error, FileNotFoundError) and self._file is not None
            )
            if was_deleted:
                self._rewrite(directory)
            else:
                self._fall_behind(directory, kept, error)
            return False
        self._is_full = self._is_full or becomes_full
        return True

    def _fall_behind(self, directory: str, lines: bytes, error: OSError) -> None:
        """Keep lines that could not be written for the next time, and warn of that once."""
        self._unwritten = lines + self._unwritten
        self._warn_once(directory, error)

    def _write(self, directory: str, lines: bytes) -> None:
        """Append lines to the file; OSError if that is not possible."""
        former_size = self._size
        if self._is_torn:
            lines = b"\n" + lines  # else the torn line would spoil the first of these
        with self._opened(directory, os.O_WRONLY | os.O_APPEND) as fd:
            written = os.write(fd, lines)
            # Not the sum of what was written here: another thread may have written, too.
            self._size = os.lseek(fd, 0, os.SEEK_CUR)
            if self._size < former_size + written:
                # Somebody has truncated it, as rotation of logs does: what it said first is gone.
                os.ftruncate(fd, 0)
                self._verified_at = None
                lines = self._lines_in_memory()
                written = os.write(fd, lines)
                self._size = os.lseek(fd, 0, os.SEEK_CUR)
        self._is_torn = written < len(lines)
        if self._is_torn:
            rest_at = lines.rfind(b"\n", 0, written) + 1
            self._unwritten = lines[rest_at:]

    def _lines_in_memory(self) -> bytes:
        """Return the entries in memory as lines, as many as a file may hold."""
        lines = b"".join(map(_line, self.entries))[: _room()]
        return lines[: lines.rfind(b"\n") + 1]

    def _rewrite(self, directory: str) -> None:
        """Begin a new file with the entries in memory, after the old one was deleted."""
        self._verified_at = None
        self._is_torn = False
        lines = self._lines_in_memory()
        self._size = 0
        try:
            with self._make_lock:
                self._file = None
                self._make_file(directory)
            self._write(directory, lines)
        except OSError as error:
            self._fall_behind(directory, lines, error)

    def _warn_once(self, directory: str, error: OSError) -> None:
        """Warn on stderr that the journal cannot be written, unless that was done before."""
        if self._has_warned:
            return
        self._has_warned = True
        say("warning", f"PATCHKIT_JOURNAL={directory}: cannot be written: {error}")

    def _overwrite(self, directory: str, at: int, line: bytes) -> bool:
        """Overwrite a `verified` line at an offset; False if another line is there, or none."""
        try:
            with self._opened(directory, os.O_RDWR) as fd:
                former = os.pread(fd, len(line), at)
                # The 27 bytes before the time are the same in all these lines.
                is_same = len(former) == len(line) and former[:27] == line[:27]
                if not is_same or not former.endswith(b"\n"):
                    return False
                return os.pwrite(fd, line, at) == len(line)
        except OSError:
            return False

    def _make_file(self, directory: str) -> None:
        """Make the folder if it does not exist, and the file, which must not exist.

        Raises:
            OSError: That is not possible, or the folder is a link of a user other than root and
                the one of this process.
        """
        os.makedirs(directory, mode=0o700, exist_ok=True)  # noqa: PTH103
        folder = os.lstat(directory)
        if stat.S_ISLNK(folder.st_mode) and folder.st_uid not in {0, os.geteuid()}:
            raise OSError(
                f"it is a link of another user (uid {folder.st_uid}), expected a folder"
            )
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE_FLAGS
        fd = os.open(f"{directory}/{self._name}", flags, 0o600)
        self._file = _identity(fd)
        os.close(fd)

    @contextmanager
    def _opened(self, directory: str, mode: int) -> Iterator[int]:
        """Open the file; OSError if it is not the one that this process has made."""
        path = f"{directory}/{self._name}"
        fd = os.open(path, mode | _SAFE_FLAGS)
        try:
            if _identity(fd) != self._file:
                raise OSError(
                    f"{path} is no longer the file that this process has made"
                )
            yield fd
        finally:
            os.close(fd)


def _room() -> int:
    """Return how many bytes of a journal are for entries of any kind."""
    return MAX_BYTES - MAX_BYTES // 64 - _BYTES_FOR_FULL


def _absolute(directory: str) -> str | None:
    """Return the absolute path of a folder; None, with a warning, if the current one is deleted."""
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
    """Return an entry as a line of JSON; only its event if JSON cannot represent the rest."""
    import json  # noqa: PLC0415 - 4 ms of a start that few processes need

    try:
        text = json.dumps(entry, separators=(",", ":"), default=str)
    except Exception as error:  # noqa: BLE001 - `str` of an object may raise anything
        essentials = {name: entry[name] for name in ("event", "time", "pid")}
        text = json.dumps({**essentials, "unwritten": type(error).__name__})
    return text.encode() + b"\n"


def process_facts() -> dict[str, Any]:
    """Collect what identifies this process: host, pids and command line.

    Returns:
        The facts by name. `began` and the pid together identify the process, also after an `exec`,
        as another one may have the pid later; `asked_by` is the process that asked Ray for it.
        `space` is where the pid counts: see `pid_space`.
    """
    return {
        "format": 1,  # which `status` reads
        "host": os.uname().nodename,
        "ppid": os.getppid(),
        "began": _began(),
        "space": pid_space(),
        "asked_by": asked_by(os.environ),
        "argv": command_line(),
        "executable": sys.executable,
        "python": sys.version.split()[0],
    }


def pid_space() -> str:
    """Name where the pid of this process counts.

    Two containers may have equal host names and equal pids, and write into one folder.

    Returns:
        The boot and the pid namespace; '' if /proc does not say.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:  # noqa: PTH123 - as below
            boot = file.read().decode().strip()
        namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - as below
    except OSError:
        return ""
    return f"{boot}:{namespace}"


def _began() -> int | None:
    """Return when this process began, in clock ticks since boot; None if /proc does not say."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - every start pays
            # The name of the program is in parentheses, and may have blanks. The start is the 20th
            # field after it.
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def say(level: str, text: str, threshold: str = "warning") -> None:
    """Write one line to stderr; this never raises, as a message must not stop a process.

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


def file_of(body: ModuleType) -> tuple[str, str] | None:
    """Find the file of a body, and its checksum.

    Args:
        body: the loaded body.

    Returns:
        Both; None if it has no file that can be read.
    """
    from binascii import crc32  # noqa: PLC0415 - only a process with a journal needs it

    file = getattr(body, "__file__", None) or ""
    try:
        with open(file, "rb") as source:  # noqa: PTH123 - pathlib costs a start
            checksum = crc32(source.read())
    except OSError:
        return None
    return file, f"{checksum:08x}"
