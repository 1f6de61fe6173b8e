"""`patchkit bisect` for a person: the runs, and the patches that they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Column
from rich.text import Text

from patchkit.report.console import columns, console, whole
from patchkit.report.words import count
from patchkit.rows.culprits import SKIP, judged_exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FEW = 3
_WORDS = {0: ("good", "ok"), SKIP: ("skipped", "warn")}


def print_bisection(
    culprits: Sequence[str], beside: Sequence[str], runs: Sequence[Mapping[str, Any]], folder: str
) -> None:
    """Print the runs in order, and the culprits last."""
    table = columns(*map(whole, ("run", "exit", "", "seconds")), Column("patches"))
    for number, run in enumerate(runs, 1):
        names = run["patches"]
        told = ", ".join(names) if len(names) <= _FEW else count(len(names), "patch")
        word = Text(*_WORDS.get(judged_exit(run, runs), ("bad", "bad")))
        facts = str(number), str(run["exit"]), word, f"{run['seconds']:.1f}"
        table.add_row(*facts, Text(told or "none"))
    out = console()
    out.print(table)
    line = Text("\nculprits, together: " if len(culprits) > 1 else "\nculprit: ")
    line.append(", ".join(culprits), "bad")
    line.append(f"; tried with {', '.join(beside)}, which come before" if beside else "", "note")
    out.print(line, soft_wrap=True)
    out.print(Text(f"outputs and journals: {folder}", "note"), soft_wrap=True)
