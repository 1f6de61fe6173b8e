"""`patchkit matrix` for a person, and for a job of GitHub's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from patchkit.report.shapes import MatrixShape


def print_matrix(data: MatrixShape) -> None:
    """Print the releases, and what each is there for."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(data["project"], no_wrap=True)
    table.add_column("exercises")
    for one in data["releases"]:
        table.add_row(Text(one["release"], "name"), Text("\n".join(one["cases"]), "note"))
    console().print(table)


def as_github(data: MatrixShape) -> str:
    """Write one line for `strategy.matrix`: `{"vllm": ["0.20.0", …]}`."""
    return json.dumps({data["project"]: [one["release"] for one in data["releases"]]})
