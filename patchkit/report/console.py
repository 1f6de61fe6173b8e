"""The terminal that tables are printed on."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO

_DIFF = {"+++": "heading", "---": "heading", "@@": "note", "+": "ok", "-": "bad"}
_WIDE_ENOUGH = 10_000
_THEME = Theme(
    {
        "ok": "green",
        "warn": "yellow",
        "bad": "bold red",
        "note": "dim",
        "name": "bold",
        "heading": "bold cyan",
        "table.header": "dim",
        "markdown.code": "bold",
        "markdown.code_block": "",
    }
)


def console() -> Console:
    """
    Open stdout for tables.

    Texts are printed as they are: a requirement such as `ray[data]` is no markup. A pipe or a file
    is not wrapped, so that `grep` finds whole lines, unless COLUMNS asks for a width.
    """
    terminal = sys.stdout.isatty() or "FORCE_COLOR" in os.environ
    wrapped = terminal or "COLUMNS" in os.environ
    return Console(
        file=None if terminal else cast("TextIO", _Trimmed(sys.stdout)),
        width=None if wrapped else _WIDE_ENOUGH,
        theme=_THEME,
        markup=False,
        emoji=False,
        highlight=False,
    )


def columns(*, header: bool = False) -> Table:
    """Make a table without lines."""
    return Table(box=None, show_header=header, pad_edge=False, padding=(0, 2, 0, 0))


def print_diff_lines(lines: Iterable[str], out: Console) -> None:
    """Print the lines of a unified diff, each whole, so that it can be copied and applied."""
    for line in lines:
        style = next((style for mark, style in _DIFF.items() if line.startswith(mark)), "")
        out.print(Text(line, style=style), soft_wrap=True)


class _Trimmed:
    """A stream without the blanks with which tables fill their lines up to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
