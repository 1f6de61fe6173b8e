"""Print tables, lines and diffs on a terminal, or into a pipe."""

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
    """Return a console for tables that writes to stdout.

    Texts are printed as they are: a requirement such as `ray[data]` is no markup. A pipe or a file
    is not wrapped, so that `grep` finds whole lines, unless COLUMNS asks for a width.
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
    """A console that breaks no word, and cuts no line: the terminal continues what is too wide."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects.

        Args:
            *objects: What is printed.
            **options: As of rich's console.
        """
        super().print(*objects, **{"crop": False, **options})

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Lay something out; a text is folded between words.

        Args:
            renderable: What is printed.
            options: How wide it may be, and whether it is folded at all.

        Returns:
            The pieces that are written.
        """
        if options is None:
            options = self.options
        if isinstance(renderable, Text) and not (renderable.no_wrap or options.no_wrap):
            renderable = fold(renderable, options.max_width)
        return super().render(renderable, options)


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


def columns(*heads: Column, indent: int = 0) -> ReportTable:
    """Return a table without lines, which breaks no word.

    Args:
        *heads: The columns; there is a line of heads if any of them has one.
        indent: The blanks before each line.
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
    """Print the lines of a unified diff, each unbroken, so that it can be copied and applied.

    Args:
        lines: The lines, without line ends.
        out: Where they are printed; control characters are spelt out on a terminal alone.
    """
    for line in lines:
        text = line
        if out.is_terminal:
            text = printable(line)
        out.print(Text(text, style=_diff_style(line)), soft_wrap=True)


def _diff_style(line: str) -> str:
    for prefix, style in _DIFF.items():
        if line.startswith(prefix):
            return style
    return ""


def print_lines(out: Console, lines: Sequence[Line]) -> None:
    """Print cells in columns, and behind them what is said of them.

    A cell that is alone on its line does not make its column wider. What is said stands below the
    cells where there is no room for it; a path is never broken, and can be copied.

    Args:
        out: Where they are printed.
        lines: The cells of each line, and what is said of them.
    """
    rows = [cells for cells, _ in lines if len(cells) > 1]
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
    if is_too_wide or not description:
        line.rstrip()
    if not is_too_wide:
        return line.append(description)
    parts = wrap(
        description, width - MARGIN, break_long_words=False, break_on_hyphens=False
    )
    for part in parts:
        line.append(f"\n{'':{MARGIN}}{part}")
    return line
