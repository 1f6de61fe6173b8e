"""Prints the runs that `patchkit status` can show, or writes them as JSON."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.text import Text

from patchkit.analysis.status.runs import Run
from patchkit.cli.report.as_json import Data, to_json
from patchkit.cli.report.console import Line, console, print_lines
from patchkit.cli.report.status_json import run_json
from patchkit.cli.report.words import age, count, one_line


class RunResult(NamedTuple):
    """A run, with its processes and patches in numbers.

    Args:
        run: The run.
        processes: The number of processes with a journal.
        statuses: The number of patches by status, the worst status first.
    """

    run: Run
    processes: int
    statuses: Mapping[str, int]

    @property
    def worst(self) -> str | None:
        """The worst status of a patch; None where there is no patch."""
        return next(iter(self.statuses), None)


def run_line(run: Run, now: float) -> str:
    """Return a line with the number, the name, the start and the command of a run.

    Args:
        run: The run.
        now: The time, in seconds since the epoch.
    """
    line = f"run {run.number}, {run.name}"
    if run.started:
        line += f", started {age(now - run.started)}"
    if run.command:
        line += f": {command_words(run)}"
    return line


def command_words(run: Run) -> str:
    """Return the command of a run, quoted for a shell.

    Args:
        run: The run.
    """
    return one_line(shlex.join(run.command))


def print_runs(results: Sequence[RunResult]) -> None:
    """Print two lines for each run: its state and its patches, and its command.

    Args:
        results: The runs, the newest first.
    """
    out = console()
    if not results:
        out.print("no 'patchkit run' of this user has left a journal")
        return
    now = time.time()
    heads = ("run", "name", "started", "", "patches")
    lines: list[Line] = [([Text(head, "table.header") for head in heads], "")]
    for result in results:
        run = result.run
        state = Text("ended", "note")
        if run.is_running:
            state = Text("running", "ok")
        statuses = [f"{number} {status}" for status, number in result.statuses.items()]
        tally = ", ".join(statuses) or "none"
        started = "at a time that is not known"
        if run.started:
            started = age(now - run.started)
        cells = [
            Text(str(run.number)),
            Text(run.name, "name"),
            Text(started, "note"),
            state,
            Text(f"{tally} in {count(result.processes, 'process')}"),
        ]
        lines.append((cells, ""))
        lines.append(([Text(f"     {command_words(run)}", "note")], ""))
    print_lines(out, lines)


def runs_json(results: Sequence[RunResult]) -> str:
    """Return the runs as JSON.

    Args:
        results: The runs, the newest first.
    """
    return to_json({"runs": [_result(result) for result in results]})


def _result(result: RunResult) -> Data:
    """Return a run, with its processes and patches in numbers."""
    return {
        **(run_json(result.run) or {}),
        "running": result.run.is_running,
        "processes": result.processes,
        "patches": dict(result.statuses),
        "status": result.worst,
    }
