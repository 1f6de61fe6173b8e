"""Prints tables, lines and diffs on a terminal, or into a pipe."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from textwrap import wrap
from typing import Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Column
from rich.text import Text
from rich.theme import Theme

from patchkit.cli.report.layout import GAP, MARGIN, ReportTable, fold
from patchkit.cli.report.words import one_line, printable

Line = tuple[list[Text], str]
"""The cells of a line, and a description after them; '' for none."""
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
    """Return a console that writes to stdout.

    It does not interpret texts: a requirement such as `ray[data]` is no markup. In a pipe or a
    file, it does not wrap lines, so that `grep` finds whole ones, unless COLUMNS is set.
    """
    is_terminal = sys.stdout.isatty() or "FORCE_COLOR" in os.environ
    file = None
    width = None
    if not is_terminal:
        file = cast("TextIO", _Trimmed(sys.stdout))
        if "COLUMNS" not in os.environ:
            width = _WIDE_ENOUGH
    return _Console(
        file=file,
        width=width,
        theme=_THEME,
        markup=False,
        emoji=False,
        highlight=False,
    )


class _Console(Console):
    """A console that breaks lines between words only, and cuts off none that is too wide."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects as rich does, but without cutting off lines.

        Args:
            *objects: The objects.
            **options: The options of rich's console.
        """
        super().print(*objects, **{"crop": False, **options})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Lay out an object as rich does, but break a text between words only.

        Args:
            renderable: The object.
            options: The width, and whether lines are broken at all.

        Returns:
            The pieces to write.
        """
        if options is None:
            options = self.options
        if isinstance(renderable, Text) and not (renderable.no_wrap or options.no_wrap):
            renderable = fold(renderable, options.max_width)
        segments = super().render(renderable, options)
        if self.is_terminal:
            return map(_without_controls, segments)
        return segments


def _without_controls(segment: Segment) -> Segment:
    """Return a piece of output with its control characters escaped; rich's own are kept."""
    if segment.control or segment.text.isprintable():
        return segment
    return segment._replace(text=printable(segment.text))


class _Trimmed:
    """A stream that drops the spaces at the ends of lines, with which rich fills tables up."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


whole = partial(Column, no_wrap=True)
folded = partial(Column, overflow="fold")


def columns(*heads: Column, indent: int = 0) -> ReportTable:
    """Return a table without borders, whose cells are broken between words only.

    Args:
        *heads: The columns; the table has a header if any column has a name.
        indent: The number of spaces before each line.
    """
    return ReportTable(*heads, indent=indent)


def plain(text: str, style: str = "") -> Text:
    """Return a text of one line, without control characters.

    Args:
        text: The text, which may have several lines.
        style: The name of its style; '' for none.
    """
    return Text(one_line(text), style=style)


def print_diff_lines(lines: Iterable[str], out: Console) -> None:
    """Print the lines of a unified diff, without breaking any, so that it can be copied.

    Args:
        lines: The lines, without line ends.
        out: The console; on a terminal, control characters are escaped.
    """
    for line in lines:
        text = line
        if out.is_terminal:
            text = printable(line)
        out.print(Text(text, style=_diff_style(line)), soft_wrap=True)


def _diff_style(line: str) -> str:
    """Return the style of a line of a diff, by how it begins; '' for an unchanged line."""
    for prefix, style in _DIFF.items():
        if line.startswith(prefix):
            return style
    return ""


def print_lines(out: Console, lines: Sequence[Line]) -> None:
    """Print cells in columns, each line with its description after the cells.

    A description that does not fit is printed below the cells. It is broken between words only, so
    that paths can be copied. A line with a single cell, such as a heading, does not widen a column.

    Args:
        out: The console.
        lines: The lines.
    """
    rows = [cells for cells, _description in lines if len(cells) > 1]
    widths = [
        max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)
    ]
    for cells, description in lines:
        for cell, width in zip(cells, widths, strict=False):
            cell.pad_right(width + GAP - cell.cell_len)
        out.print(
            _line(Text("").join(cells), one_line(description), out.width),
            soft_wrap=True,
        )


def _line(line: Text, description: str, width: int) -> Text:
    """Append a description to a line, or below it where it would be wider than `width`."""
    is_too_wide = line.cell_len + cell_len(description) > width
    # The last cell was padded for a description beside it.
    if is_too_wide or not description:
        line.rstrip()
    if not is_too_wide:
        return line.append(description)
    parts = wrap(
        description,
        max(1, width - MARGIN),
        break_long_words=False,
        break_on_hyphens=False,
    )
    for part in parts:
        line.append(f"\n{'':{MARGIN}}{part}")
    return line
