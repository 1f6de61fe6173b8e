"""`patchkit matrix` for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import columns, console

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def print_matrix(project: str, releases: Mapping[str, Iterable[str]]) -> None:
    """Print the releases, and what each is there for."""
    table = columns(header=True)
    table.add_column(project, no_wrap=True)
    table.add_column("exercises")
    for release, cases in releases.items():
        table.add_row(Text(release, "name"), Text("\n".join(cases), "note"))
    console().print(table)
