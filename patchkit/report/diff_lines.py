"""A unified diff on a terminal: what goes and what comes, in colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

_STYLES = {"+++": "heading", "---": "heading", "@@": "note", "+": "ok", "-": "bad"}


def print_lines(lines: Iterable[str], out: Console) -> None:
    """Print the lines of a unified diff, each whole, so that it can be copied and applied."""
    for line in lines:
        style = next((style for mark, style in _STYLES.items() if line.startswith(mark)), "")
        out.print(Text(line, style=style), soft_wrap=True)
