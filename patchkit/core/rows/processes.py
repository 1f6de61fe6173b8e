"""How processes are known, and the role that each enters: one row for each way to know one.

patchkit's own rows are in its pack for vLLM's platforms. A package tells of its own processes by
the entry-point group `patchkit.processes`: a module that holds `PROCESSES`, a tuple of such rows.
The registry reads all of them.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.declaration import Role, Row

GROUP = "patchkit.processes"

LIBRARIES = ("multiprocessing", "multiprocess")
"""What starts child processes: Python's own, and its namesake with functions of the same names."""

NAMED = ("target", "actor", "call")
BY = (*NAMED, "name", "title", "command", "switch")


class ProcessRow(Record):
    """One row: one way to know a process.

    Args:
        by: what tells: `target`, what `multiprocessing.Process(target=…)` runs; `actor`, the class
            of a Ray actor, or a base of it; `call`, a function that is called in the process (for
            main, the one that makes the configuration of an engine); `name`, what the process's
            name begins with; `title`, what its title begins with, where patchkit is not in it;
            `command`, the script or the module of `python -m`; `switch`, a variable that is set.
        what: the function or class as `module:qualname`, or the text.
        role: the role that the process enters; None for a process that needs none.
        why: the reason for no role.
        instead_of: modules whose code for main runs nowhere where this process is.
    """

    by: str
    what: str
    role: Role | None
    why: str = ""
    instead_of: Collection[str] = ()

    def leaves_out(self, rows: Iterable[Row]) -> list[str]:
        """Name the patches for main whose targets run nowhere where this process is."""
        gone = tuple(f"{name}." for name in self.instead_of)
        return [
            row.name
            for row in rows
            if Role.MAIN in row.roles
            and any(f"{change.place.module}.".startswith(gone) for change in row.patch.changes)
        ]


class ProcessTable:
    """All rows of this process, and which of them another is known by."""

    def __init__(self, rows: Iterable[ProcessRow]) -> None:
        # The longest first: `EngineCoreTrainer` may be another's than `EngineCore`.
        ordered = sorted(rows, key=lambda row: -len(row.what))
        self._rows = {by: {row.what: row for row in ordered if row.by == by} for by in BY}

    def known(self, by: str, what: str) -> ProcessRow | None:
        """Find the row of exactly this."""
        return self._rows[by].get(what)

    def all(self, by: str) -> Iterable[ProcessRow]:
        """List the rows of one way to know a process."""
        return self._rows[by].values()

    def of_process(self, process: Any) -> ProcessRow | None:
        """Find the row of a `multiprocessing` process by its target, or else by its name."""
        name = str(getattr(process, "name", ""))
        return self.known("target", target_of(process)) or self.beginning("name", name)

    def of_actor(self, cls: type) -> ProcessRow | None:
        """Find the row of a Ray actor by its class, or by a base of that."""
        names = (f"{base.__module__}:{base.__qualname__}" for base in cls.__mro__)
        return next(filter(None, (self.known("actor", name) for name in names)), None)

    def of_command(self, words: Sequence[str]) -> ProcessRow | None:
        """Find the row by Python's command line: `python -m MODULE`, or a script's name."""
        plain = [word for word in words[1:] if word == "-m" or not word.startswith("-")][:2]
        name = plain.pop() if plain[:1] == ["-m"] else "".join(plain[:1]).rpartition("/")[2]
        return self.known("command", name)

    def beginning(self, by: str, text: str) -> ProcessRow | None:
        """Find the row of the name or title that a process's begins with."""
        return next((row for row in self.all(by) if text.startswith(row.what)), None)

    def switched_on(self, environ: Mapping[str, str]) -> Iterator[ProcessRow]:
        """Yield the rows of variables that are set, to other than 0."""
        return (row for row in self.all("switch") if environ.get(row.what, "0").strip(" 0"))


def target_of(process: Any) -> str:
    """Name the function that a `multiprocessing` process runs, or else its class."""
    target: Any = getattr(process, "_target", None) or type(process)
    while isinstance(target, functools.partial):
        target = target.func
    return f"{getattr(target, '__module__', '')}:{getattr(target, '__qualname__', '')}"
