"""What one node knows: the journals in a directory, and which processes run.

Only the standard library: it travels to nodes of a Ray cluster that may have no patchkit.
"""

import errno
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_VLLM_LIBRARY = re.compile(rb"/vllm/[^\n]*\.so\b")
_VLLM_TITLE = "VLLM::"
_TOLD = ("PATCHKIT", "PATCHKIT_JOURNAL")
_LARGEST = 8 * 1024 * 1024
"""Bytes; twice what a process writes at most."""
_NEWBORN_SECONDS = 2.0
"""A process that has just been forked has its parent's libraries, and not yet a journal."""


def look(directory: str | None) -> dict[str, Any]:
    """Look at this node from outside of the processes; PATCHKIT_JOURNAL says where, if nobody does.

    Returns:
        `journals`, their bytes by file name; `unreadable`, by file name why those could not be
        read; `processes`, by pid, those that have to do with them, or None where the system does
        not tell; `error`, what stood in the way, or None; `host`, `directory`, `now`.
    """
    directory = directory or os.environ.get("PATCHKIT_JOURNAL")
    host = os.uname().nodename
    untold = "PATCHKIT_JOURNAL is not set there, and no directory was given"
    journals, unreadable = read(directory) if directory else ({}, {})
    return {
        "host": host,
        "directory": directory,
        "error": untold if directory is None else None,
        "journals": journals,
        "unreadable": unreadable,
        "processes": _processes(host, journals, directory),
        "now": time.time(),
    }


def writer(name: str) -> tuple[str, int]:
    """Tell host and pid from the name of a journal; the pid is 0 where it is no such name."""
    host, _, pid = name.rpartition("-")[0].rpartition("-")
    return host, int(pid) if pid.isdecimal() and len(pid) < 10 else 0


def contents(path: Path) -> bytes:
    """Read a journal; OSError where it is a link, no regular file (a FIFO, a device), too large."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if facts.st_size > _LARGEST:
            raise OSError(errno.EFBIG, f"it has more than {_LARGEST} bytes")
        return file.read(_LARGEST)


def read(directory: str) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read all journals of a directory, and say by name why others cannot be read."""
    journals: dict[str, bytes] = {}
    unreadable = {}
    for path in sorted(Path(directory).glob("*.jsonl")):
        try:
            journals[path.name] = contents(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            unreadable[path.name] = "it is a link" if is_link else str(error.strerror)
    return journals, unreadable


def _processes(
    host: str, journals: dict[str, bytes], directory: str | None
) -> dict[int, dict[str, Any]] | None:
    if not (_PROC / "self" / "stat").exists():
        return None
    entries = (entry for entry in _PROC.iterdir() if entry.name.isdigit())
    everything = {int(entry.name): facts for entry in entries if (facts := _stat(entry))}
    writers = {pid for name in journals for there, pid in [writer(name)] if there == host}
    wanted = _family(everything, writers, directory)
    for pid in wanted:
        title = _bytes(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
        is_mute = pid not in writers and _age(everything[pid]) > _NEWBORN_SECONDS
        has_vllm = is_mute and (
            title.startswith(_VLLM_TITLE) or bool(_VLLM_LIBRARY.search(_bytes(pid, "maps")))
        )
        told = {"title": title, "vllm": has_vllm, "environ": _environ(pid) if has_vllm else {}}
        everything[pid].update(told)
    return {pid: everything[pid] for pid in wanted}


def _stat(entry: Path) -> dict[str, Any] | None:
    try:
        name, _, rest = (entry / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    words = rest.split()
    if words[0] in "ZX":
        return None  # ended; its parent has not asked how
    return {"name": name.partition("(")[2], "ppid": int(words[1]), "began": int(words[19])}


def _family(
    everything: dict[int, dict[str, Any]], writers: set[int], directory: str | None
) -> set[int]:
    """Find the writers that run, what they started, and what shares a raylet or the journal."""
    family = writers & set(everything)
    parents = {everything[pid]["ppid"] for pid in family}
    raylets = {pid for pid in parents if everything.get(pid, {}).get("name") == "raylet"}
    told = {pid for pid in everything if directory and _told(pid, directory)}
    more = told | _children(everything, raylets)
    while not more <= family:
        family |= more
        more = _children(everything, family)
    return family - {os.getpid()}


def _children(everything: dict[int, dict[str, Any]], parents: set[int]) -> set[int]:
    return {pid for pid, process in everything.items() if process["ppid"] in parents}


def _told(pid: int, directory: str) -> bool:
    own = _environ(pid).get("PATCHKIT_JOURNAL")
    return own is not None and os.path.abspath(own) == os.path.abspath(directory)  # noqa: PTH100


def _age(process: dict[str, Any]) -> float:
    ticks: int = process["began"]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def _environ(pid: int) -> dict[str, str]:
    pairs = (pair.partition(b"=") for pair in _bytes(pid, "environ").split(b"\0"))
    values = {name.decode(errors="replace"): text for name, _, text in pairs}
    return {name: os.fsdecode(values[name]) for name in _TOLD if name in values}


def _bytes(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""  # gone, or another user's
