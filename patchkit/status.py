"""Many journals, one picture: what is applied in every process that left a journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class PatchStatus:
    """How it stood last with one patch in one process."""

    name: str
    status: str = "armed"
    reason: str = ""


@dataclass
class ProcessStatus:
    """
    One process, as its journal tells.

    Args:
        host: node name.
        pid: its own.
        ppid: its parent's when it was armed.
        argv: its command line.
        roles: in the order in which it entered them; after a fork into a role, only that one.
        patches: by name.
        started: seconds since the epoch.

    """

    host: str
    pid: int
    ppid: int
    argv: list[str]
    started: float
    roles: list[str] = field(default_factory=list)
    patches: dict[str, PatchStatus] = field(default_factory=dict)


def read_directory(directory: str | Path) -> list[ProcessStatus]:
    """Read every journal in a directory, the oldest process first."""
    journals = [read_journal(path) for path in sorted(Path(directory).glob("*.jsonl"))]
    known = [process for process in journals if process is not None]
    return sorted(known, key=lambda process: process.started)


def read_journal(path: Path) -> ProcessStatus | None:
    """Read one journal; None where it holds no process. Torn and foreign lines are passed over."""
    process: ProcessStatus | None = None
    for line in path.read_bytes().splitlines():
        entry = _entry(line)
        if entry.get("event") == "armed":
            process = _process(entry)
        elif process is not None:
            _note(process, entry)
    return process


def _entry(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def _process(entry: dict[str, Any]) -> ProcessStatus:
    names = [str(name) for name in entry.get("patches", ())]
    return ProcessStatus(
        host=str(entry.get("host", "")),
        pid=int(entry.get("pid", 0)),
        ppid=int(entry.get("ppid", 0)),
        argv=[str(word) for word in entry.get("argv", ())],
        started=float(entry.get("time", 0)),
        patches={name: PatchStatus(name) for name in names},
    )


def _note(process: ProcessStatus, entry: dict[str, Any]) -> None:
    if entry.get("event") == "become":
        process.roles = []
    elif entry.get("event") == "role":
        role = str(entry.get("role"))
        if role not in process.roles:
            process.roles.append(role)
    elif entry.get("event") == "patch":
        name = str(entry.get("name"))
        status = PatchStatus(name, str(entry.get("status")), str(entry.get("reason", "")))
        process.patches[name] = status
