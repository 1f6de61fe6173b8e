"""What a row leaves when it acts: one line in the file that the environment names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import process
from pathlib import Path

VARIABLE = "ROWS_WITNESS"


@dataclass(frozen=True)
class Sight:
    """One line.

    Args:
        name: of the row.
        pid: of the process in which it acted.
        process: what `multiprocessing` calls that.
        daemon: whether its parent made it a daemon.
        detail: what the row has to say.
    """

    name: str
    pid: int
    process: str
    daemon: bool
    detail: str = ""


def seen(name: str, detail: object = "") -> None:
    """Leave a line."""
    me = process.current_process()
    line = f"{name}\t{os.getpid()}\t{me.name}\t{int(me.daemon)}\t{detail}\n"
    fd = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, line.encode())
    finally:
        os.close(fd)


def sights(path: Path | str) -> list[Sight]:
    """Read the lines, in the order in which they were left."""
    fields = [line.split("\t") for line in Path(path).read_text().splitlines()]
    return [
        Sight(name, int(pid), where, daemon == "1", detail)
        for name, pid, where, daemon, detail in fields
    ]
