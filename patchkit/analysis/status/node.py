"""Reads the journals in a directory of this node, and lists the processes that belong to them.

This module imports only the standard library, as Ray sends it to nodes that may have no patchkit.
"""

import binascii
import errno
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_VARIABLES = ("PATCHKIT", "PATCHKIT_JOURNAL")
"""The environment variables of a process that are read."""
_LARGEST = 8 * 1024 * 1024
"""How many bytes of a journal are read: twice what a process writes at most."""
_BODY = re.compile(rb'"body": ?(\["(?:[^"\\]|\\.)*", ?"[0-9a-f]{8}"\])')
"""Matches the field of an entry with the file of a body, and its checksum when it was loaded."""
_SPACE = re.compile(rb'"space": ?"([^"]*)"')
"""Matches the field of the first entry with the namespace in which the pid counts."""
_SECONDS_AFTER_FORK = 2.0
"""For so long, a forked process may have no journal yet, but has its parent's libraries."""

_Process = dict[str, Any]
"""What /proc says of a process, by name."""
_Processes = dict[int, _Process]
"""Processes by pid."""


def look(
    directory: str | None, engines: Sequence[Sequence[str]] = ()
) -> dict[str, Any]:
    """Collect the journals and processes of this node.

    Args:
        directory: The folder of the journals; None or "" for the value of PATCHKIT_JOURNAL here.
        engines: How processes of each engine are recognized: its name, its package, and what titles
            of its processes begin with.

    Returns:
        `journals`: the content of each, by file name. `modified`: by file name, when it changed,
        by the clock of its folder. `unreadable`: by file name, why it cannot be read. `processes`:
        by pid, those that belong to the journals; None if the system has no /proc. `bodies`: by
        file, the present checksum of each body that a process has loaded. `error`: that no
        directory is known, or None. `host`, `directory`, and `now` in seconds since the epoch.
    """
    directory = directory or os.environ.get("PATCHKIT_JOURNAL")
    host = os.uname().nodename
    error = None
    if directory is None:
        error = "PATCHKIT_JOURNAL is not set there, and no directory was given"
    journals: dict[str, bytes] = {}
    unreadable: dict[str, str] = {}
    if directory:
        journals, unreadable = read(directory)
    return {
        "host": host,
        "directory": directory,
        "error": error,
        "journals": journals,
        "unreadable": unreadable,
        "modified": _modified(directory, journals),
        "space": _pid_space(),
        "processes": _processes(host, journals, directory, engines),
        "bodies": _bodies(journals),
        "now": time.time(),
    }


def writer(name: str) -> tuple[str, int]:
    """Return the host and the pid of the process that wrote a journal.

    Args:
        name: The name of the file, `HOST-PID-TIME.jsonl`.

    Returns:
        The host and the pid; the pid is 0 if the name is not that of a journal.
    """
    # From the right, as the name of a host may have hyphens too.
    without_time, _, _ = name.rpartition("-")
    host, _, pid = without_time.rpartition("-")
    if pid.isdecimal() and len(pid) < 10:  # no pid has more digits
        return host, int(pid)
    return host, 0


def contents(path: Path) -> bytes:
    """Return the content of a journal.

    Args:
        path: Its file.

    Raises:
        OSError: The file cannot be read, is a link, is no regular file but a FIFO or device, or is
            too large.
    """
    # Without O_NONBLOCK, to open a FIFO would wait for somebody who writes to it.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags)
    with os.fdopen(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if facts.st_size > _LARGEST:
            raise OSError(errno.EFBIG, f"it has more than {_LARGEST} bytes")
        return file.read(_LARGEST)  # it may be growing


def read(directory: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read all journals of a directory.

    Args:
        directory: The folder; folders below it are not searched.

    Returns:
        The contents of the journals by file name; and by file name, why others cannot be read, or
        by the folder, why that cannot be.
    """
    journals: dict[str, bytes] = {}
    unreadable: dict[str, str] = {}
    try:
        files = [
            path for path in Path(directory).iterdir() if path.name.endswith(".jsonl")
        ]
    except (FileNotFoundError, NotADirectoryError):
        return journals, unreadable  # nobody has written a journal yet
    except OSError as error:
        return journals, {directory: str(error.strerror)}
    for path in sorted(files):
        try:
            journals[path.name] = contents(path)
        except FileNotFoundError:
            continue  # somebody has deleted it meanwhile
        except OSError as error:
            if error.errno == errno.ELOOP:
                unreadable[path.name] = "it is a link"
            else:
                unreadable[path.name] = str(error.strerror)
    return journals, unreadable


def _modified(directory: str | None, names: Iterable[str]) -> dict[str, float]:
    """Return by name when a file was changed; it is asked after the files were read."""
    moments: dict[str, float] = {}
    for name in names:
        with suppress(OSError):  # somebody has deleted it meanwhile
            moments[name] = Path(directory or "", name).stat().st_mtime
    return moments


def _bodies(journals: dict[str, bytes]) -> dict[str, str]:
    """Return by file the present checksum of each loaded body whose file can be read.

    A checksum other than that in a journal shows that the body was edited: see `compare_bodies`.
    """
    checksums: dict[str, str] = {}
    for data in journals.values():
        for match in _BODY.finditer(data):
            with suppress(OSError, ValueError):
                # The other item is the checksum that the body had when it was loaded.
                file, _ = json.loads(match[1])
                if file not in checksums:
                    text = contents(Path(file))
                    checksum = binascii.crc32(text)
                    checksums[file] = f"{checksum:08x}"
    return checksums


def _processes(
    host: str,
    journals: dict[str, bytes],
    directory: str | None,
    engines: Sequence[Sequence[str]],
) -> _Processes | None:
    """Describe the running processes that belong to some journals, by pid; None without /proc."""
    if not (_PROC / "self" / "stat").exists():
        return None
    running = _running()
    writers = _writers(host, journals)
    family = _related(running, writers, directory)
    for pid in family:
        process = running[pid]
        details = _details(pid, process, engines, is_writer=pid in writers)
        process.update(details)
    return {pid: running[pid] for pid in family}


def _running() -> _Processes:
    """Return name, parent and start of each running process, by pid."""
    running = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue  # it is not the folder of a process
        facts = _stat(entry)
        if facts:
            running[int(entry.name)] = facts
    return running


def _writers(host: str, journals: dict[str, bytes]) -> set[int]:
    """Return the pids of this host's processes that wrote journals; others' may be there too.

    Other containers may have the same host name; their pids count elsewhere. A file that is no
    journal gives the pid 0, which no process has.
    """
    here = _pid_space().encode()
    pids: set[int] = set()
    for name, data in journals.items():
        origin, pid = writer(name)
        written = _SPACE.search(data.partition(b"\n")[0])
        is_elsewhere = written is not None and here not in {b"", written[1]}
        if origin == host and not is_elsewhere:
            pids.add(pid)
    return pids


def _pid_space() -> str:
    """Name the boot and the pid namespace of this process, as its journal does; '' if unknown."""
    try:
        boot = (_PROC / "sys" / "kernel" / "random" / "boot_id").read_text().strip()
        namespace = (_PROC / "self" / "ns" / "pid").stat()
    except OSError:
        return ""
    return f"{boot}:{namespace.st_ino}"


def _details(
    pid: int,
    process: _Process,
    engines: Sequence[Sequence[str]],
    *,
    is_writer: bool,
) -> dict[str, Any]:
    """Find out whether patchkit is missing in a process: it runs an engine, and writes no journal.

    Returns:
        `title`: the command line, or what the process has replaced it by. `engine`: the name of the
        engine that it has loaded although it writes no journal; "" for each writer. `environ`: if
        so, patchkit's variables in its environment, which may say why; else empty.
    """
    arguments = _proc_file(pid, "cmdline")
    command = arguments.replace(b"\0", b" ")
    title = command.decode(errors="replace").strip()
    engine = ""
    # A process that was just forked has its parent's engine, and may have no journal yet.
    if not is_writer and _age(process) > _SECONDS_AFTER_FORK:
        engine = _engine_in(pid, title, engines)
    environ = _environ(pid) if engine else {}
    return {"title": title, "engine": engine, "environ": environ}


def _engine_in(pid: int, title: str, engines: Sequence[Sequence[str]]) -> str:
    """Name the engine that a process says in its title, or has mapped a library of; "" for none."""
    for name, _, *titles in engines:
        if title.startswith(tuple(titles)):
            return name
    mapped = _proc_file(pid, "maps")
    for name, package, *_ in engines:
        if re.search(rb"/%s/[^\n]*\.so\b" % package.encode(), mapped):
            return name
    return ""


def _stat(entry: Path) -> _Process | None:
    """Read name, parent and start of a process from its folder in /proc; None if it has ended."""
    try:
        text = (entry / "stat").read_text(errors="replace")
    except OSError:
        return None
    # `4711 (name) S 1 …`; the name may contain parentheses and spaces.
    pid_and_name, _, numbers = text.rpartition(")")
    _, _, name = pid_and_name.partition("(")
    # The third field and those after it: `fields[0]` is the state, `fields[1]` the parent, and
    # `fields[19]`, the 22nd, the start.
    fields = numbers.split()
    if fields[0] in {"Z", "X"}:
        return None  # it has ended, and its parent has not asked for the exit code yet
    return {
        "name": name,
        "ppid": int(fields[1]),
        "began": int(fields[19]),
    }


def _related(running: _Processes, writers: set[int], directory: str | None) -> set[int]:
    """Return the pids of running writers of journals, and of processes that belong to them.

    These are the descendants of writers, the descendants of a raylet, a daemon of Ray, that started
    a writer, and processes whose environment names the same directory, with their descendants. This
    process is left out.
    """
    pids = set(running)
    family = writers & pids
    parents = {running[pid]["ppid"] for pid in family} & pids
    raylets = {pid for pid in parents if running[pid]["name"] == "raylet"}
    relatives = _children(running, raylets | family)
    if directory:
        relatives |= {pid for pid in running if _writes_to(pid, directory)}
    # Children, then their children, until a generation has nobody new.
    while not relatives <= family:
        family |= relatives
        relatives = _children(running, family)
    return family - {os.getpid()}


def _children(running: _Processes, parents: set[int]) -> set[int]:
    """Return the pids of the children of some processes."""
    return {pid for pid, process in running.items() if process["ppid"] in parents}


def _writes_to(pid: int, directory: str) -> bool:
    """Whether the environment of a process names a directory for its journal."""
    own = _environ(pid).get("PATCHKIT_JOURNAL")
    if own is None:
        return False
    try:
        folder = (_PROC / str(pid) / "cwd").readlink()
    except OSError:
        folder = Path("/")  # the real one is unknown, and only a relative path needs it
    own_path = os.path.normpath(folder / own)
    return own_path == os.path.abspath(directory)  # noqa: PTH100


def _age(process: _Process) -> float:
    """Return the seconds since a process was started."""
    ticks: int = process["began"]
    uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
    began = ticks / os.sysconf("SC_CLK_TCK")  # in seconds since the boot, as the uptime
    return uptime - began


def _environ(pid: int) -> dict[str, str]:
    """Read patchkit's variables in the environment with which a process was started."""
    values = {}
    assignments = _proc_file(pid, "environ").split(b"\0")
    for assignment in assignments:
        name, _, text = assignment.partition(b"=")
        values[name.decode(errors="replace")] = text
    return {name: os.fsdecode(values[name]) for name in _VARIABLES if name in values}


def _proc_file(pid: int, name: str) -> bytes:
    """Read a file of a process in /proc; b"" if the process has ended, or is another user's."""
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
