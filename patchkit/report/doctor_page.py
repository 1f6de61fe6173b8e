"""`patchkit doctor` for a person: one line a fact, with a mark where it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from patchkit.report.shapes import CheckShape, DoctorShape


def print_doctor(data: DoctorShape) -> None:
    """Print the checks, topic by topic."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    topic = ""
    for check in data["checks"]:
        if check["topic"] != topic:
            topic = check["topic"]
            table.add_row(Text(topic, style="heading"))
        table.add_row(_mark(check), check["subject"], check["message"])
    console().print(table)


def _mark(check: CheckShape) -> Text:
    word = "" if check["mark"] == "note" else check["mark"]
    return Text(f"  {word}", style=check["mark"])
