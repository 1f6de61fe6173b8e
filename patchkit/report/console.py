"""The terminal that pages are printed on, and what they are made of: tables, lines, diffs."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text
from rich.theme import Theme

from patchkit.report.words import one_line, printable

Line = tuple[Text, Text, str]
_DIFF = {"+++": "heading", "---": "heading", "@@": "note", "+": "ok", "-": "bad"}
_WIDE_ENOUGH = 10_000
_GAP = 2
_LEAST = 30
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


def print_hanging(out: Console, lines: Sequence[Line]) -> None:
    """Print marks, subjects and what is said of them, wrapped between words in a column of its own.

    A path that is longer than its column goes on past it, so that it can be copied whole.
    """
    mark = max((line[0].cell_len for line in lines if line[2]), default=0) + _GAP
    subject = max((line[1].cell_len for line in lines), default=0) + _GAP
    if out.width - mark - subject < _LEAST:
        subject = _GAP * 2
    for line in lines:
        out.print(_hung(line, mark, subject, out.width), soft_wrap=True)


def _hung(line: Line, mark: int, subject: int, width: int) -> Text:
    text, edge = line[0].copy(), mark + subject
    if not line[1] and not line[2]:
        return text
    text.pad_right(max(mark - text.cell_len, 0))
    text.append_text(line[1])
    room = max(width - edge, _LEAST)
    parts = wrap(printable(line[2]), room, break_long_words=False, break_on_hyphens=False)
    blank = edge - text.cell_len
    margin = "\n" + " " * edge
    text.append(" " * blank if blank >= _GAP else margin if parts else "")
    return text.append(margin.join(parts))
