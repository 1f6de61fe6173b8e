"""Journals as processes write them, and what a node looks like, made up for a test."""

from __future__ import annotations

import json
from typing import Any

NOW = 1_800_000_000.0
PATCHES = ("one", "two")
Journals = dict[str, bytes]


def line(event: str, **fields: Any) -> bytes:
    """An entry: one line of a journal."""
    return json.dumps({"event": event, "time": NOW, **fields}).encode() + b"\n"


def armed(pid: int, *, host: str = "node", at: float = 0, **fields: Any) -> bytes:
    """The first entry of a process that started `at` seconds after NOW."""
    facts = {
        "host": host,
        "ppid": 1,
        "argv": ["script.py"],
        "patches": [*PATCHES],
        "began": pid,
    }
    return line("armed", **{**facts, "pid": pid, "time": NOW + at, **fields})


def role(name: str, **fields: Any) -> bytes:
    """The entry of a process that has entered a role."""
    return line("role", role=name, **fields)


def patch(name: str, status: str, reason: str = "", **fields: Any) -> bytes:
    """The entry of a process that says how it stands with a patch."""
    return line("patch", name=name, status=status, reason=reason, **fields)


def child(pid: int, name: str = "", role: str | None = None, at: float = 0) -> bytes:
    """The entry of a process that has started another."""
    return line("child", child=pid, name=name, role=role, time=NOW + at)


def journal(
    pid: int, *entries: bytes, host: str = "node", at: float = 0, **fields: Any
) -> Journals:
    """A journal under the name of its file."""
    name = f"{host}-{pid}-{int((NOW + at) * 1e9)}.jsonl"
    return {name: armed(pid, host=host, at=at, **fields) + b"".join(entries)}


def look(*journals: Journals, host: str = "node", **facts: Any) -> dict[str, Any]:
    """What a node tells; which processes run is not known, unless given as `processes`."""
    every: Journals = {}
    for files in journals:
        every.update(files)
    seen = {"host": host, "directory": "/journal", "error": None, "processes": None}
    return {**seen, "now": NOW + 100, "journals": every, "unreadable": {}, **facts}


def running(
    pid: int, *, ppid: int = 1, vllm: str = "", **environ: str
) -> dict[int, Any]:
    """A process that runs; `vllm` is the title of one that has vLLM in it."""
    process = {
        "ppid": ppid,
        "began": pid,
        "title": vllm,
        "engine": "vLLM" if vllm else "",
        "environ": environ,
    }
    return {pid: process}


def engine(workers: int = 2, **fields: Any) -> list[Journals]:
    """A main process, its engine core and its workers, all well."""
    names = [f"VllmWorker-{rank}" for rank in range(workers)]
    children = [child(30 + rank, name, "worker", 3) for rank, name in enumerate(names)]
    return [
        journal(
            10,
            role("main"),
            patch("one", "applied"),
            child(20, "EngineCore", "engine-core"),
        ),
        journal(
            20, role("engine-core"), patch("one", "applied"), *children, at=1, ppid=10
        ),
        *(
            journal(
                30 + rank,
                role("worker"),
                patch("two", "applied"),
                at=3 + rank / 10,
                ppid=20,
            )
            for rank in range(workers)
        ),
    ]
