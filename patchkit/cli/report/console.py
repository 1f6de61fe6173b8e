"""The terminal that pages are printed on, and what they are made of: tables, lines, diffs."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text
from rich.theme import Theme

from patchkit.cli.report.words import one_line, printable

Line = tuple[list[Text], str]
_DIFF = {"+++": "heading", "---": "heading", "@@": "note", "+": "ok", "-": "bad"}
_WIDE_ENOUGH = 10_000
_GAP = 2
_MARGIN = 4
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
    """Open stdout for tables.

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


class _Trimmed:
    """A stream without the blanks with which tables fill their lines up to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


whole = partial(Column, no_wrap=True)
folded = partial(Column, overflow="fold")


def columns(*those: Column) -> Table:
    """Make a table without lines, with a line of heads if any column has one."""
    header = any(column.header for column in those)
    return Table(*those, box=None, show_header=header, pad_edge=False, padding=(0, _GAP, 0, 0))


def plain(text: str, style: str = "") -> Text:
    """Make a text of one line, without control characters."""
    return Text(one_line(text), style=style)


def print_diff_lines(lines: Iterable[str], out: Console) -> None:
    """Print the lines of a unified diff, each whole, so that it can be copied and applied."""
    for line in lines:
        style = next((style for mark, style in _DIFF.items() if line.startswith(mark)), "")
        text = printable(line) if out.is_terminal else line
        out.print(Text(text, style=style), soft_wrap=True)


def print_lines(out: Console, lines: Sequence[Line]) -> None:
    """Print cells in columns, but for one that stands alone, and behind them what is said of them.

    That lies below them where there is no room for it; a path is never broken, and can be copied.
    """
    several = (cells for cells, _ in lines if cells[1:])
    widths = [max(cell.cell_len for cell in column) for column in zip(*several, strict=True)]
    for cells, words in lines:
        for cell, width in zip(cells, widths, strict=False):
            cell.pad_right(width + _GAP - cell.cell_len)
        line, said = Text("").join(cells), one_line(words)
        is_full = line.cell_len + cell_len(said) > out.width
        if is_full or not said:
            line.rstrip()
        if is_full:
            parts = wrap(said, out.width - _MARGIN, break_long_words=False, break_on_hyphens=False)
            said = "".join(f"\n{'':{_MARGIN}}{part}" for part in parts)
        out.print(line.append(said), soft_wrap=True)
