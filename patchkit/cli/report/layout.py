"""Lays out tables in which cells are broken between words only, so that names can be copied."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Column, Table
from rich.text import Text

GAP = 2
"""The spaces between two columns."""
MARGIN = 4
"""The spaces before a cell that is printed below the others of its row."""
_WORD = re.compile(r"\s*\S+\s*")
"""A word of a line with the spaces after it, and for the first word those before it."""
_CUT_AT = 16
"""The least width of a text that may be cut off, such as a command."""


class ReportTable(Table):
    """A table whose cells are broken between words only, as rich's own tables are not.

    If the terminal is too narrow for the columns, each row becomes a block, with its cells one
    below the other. A word that is wider than the terminal is printed as it is.

    Args:
        *heads: The columns; the table has a header if any column has a name.
        indent: The number of spaces before each line.
    """

    def __init__(self, *heads: Column, indent: int = 0) -> None:
        header = any(column.header for column in heads)
        super().__init__(
            *heads,
            box=None,
            show_header=header,
            pad_edge=False,
            padding=(0, GAP, 0, 0),
        )
        self.indent = indent

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[Text]:
        """Yield the lines of the table; rich calls this to print it.

        Args:
            console: The console.
            options: The width of the lines.
        """
        heads = [_text(column.header, "table.header") for column in self.columns]
        rows = self._rows()
        room = options.max_width - self.indent
        widths = self._widths([heads, *rows], room)
        indentation = " " * self.indent
        # Without widths, there is no room for columns: each row becomes a block.
        if widths is not None and self.show_header:
            rows.insert(0, heads)
        for cells in rows:
            if widths is not None:
                lines = self._line(cells, widths)
            elif self.show_header:
                lines = _labelled_block(heads, cells, room)
            else:
                lines = _block(cells, room)
            for line in lines:
                indented = Text.assemble(indentation, line)
                yield unbroken(indented)

    def _rows(self) -> list[list[Text]]:
        """Return the cells of each row, as texts in the style of their columns."""
        by_column = []
        for column in self.columns:
            style = str(column.style)
            texts = [_text(cell, style) for cell in column.cells]
            by_column.append(texts)
        return [list(cells) for cells in zip(*by_column, strict=True)]

    def _widths(self, rows: Sequence[Sequence[Text]], room: int) -> list[int] | None:
        """Return the width of each column; None if there is no room for all of them.

        Args:
            rows: The cells of each row, the heads included.
            room: The width of the table.
        """
        widths: list[int] = []
        missing_by_column: list[int] = []
        columns = list(zip(*rows, strict=True))
        for column, cells in zip(self.columns, columns, strict=True):
            cell_widths = map(_width, cells)
            widest = max(column.min_width or 0, *cell_widths)
            least = widest
            if not column.no_wrap:
                least = self._least_width(column, cells, room)
            widths.append(least)
            missing_by_column.append(widest - least)
        gaps = GAP * (len(widths) - 1)
        spare = room - gaps - sum(widths)
        if spare < 0:
            return None
        # First the columns that may not be cut off get what they need, then the others.
        for is_cut in (False, True):
            needs: dict[int, int] = {}
            for index, cells in enumerate(columns):
                may_be_cut = any(cell.no_wrap for cell in cells)
                if may_be_cut == is_cut:
                    needs[index] = missing_by_column[index]
            spare = _share(spare, needs, widths)
        return widths

    def _least_width(self, column: Column, cells: Sequence[Text], room: int) -> int:
        """Return the width of the widest word in a column, which is never broken."""
        word_widths: list[int] = []
        for cell in cells:
            word_widths += _word_widths(cell)
        if column is self.columns[-1]:
            # A word that does not fit even into a block is printed at its full width in either
            # case. So it is no reason for blocks, and does not count.
            word_widths = [width for width in word_widths if width <= room - MARGIN]
        return max(word_widths, default=1)

    def _line(self, cells: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
        """Yield the lines of a row, with its cells beside each other.

        Args:
            cells: The cells.
            widths: The width of each column.
        """
        folded = [
            _folded(cell, width) for cell, width in zip(cells, widths, strict=True)
        ]
        for parts in zip_longest(*folded, fillvalue=Text()):
            line = Text()
            for part, width, column in zip(parts, widths, self.columns, strict=True):
                missing = " " * (width - part.cell_len)
                if column.justify == "right":
                    line.append(missing).append_text(part)
                else:
                    line.append_text(part).append(missing)
                line.append(" " * GAP)
            line.rstrip()
            yield line


def _labelled_block(
    heads: Sequence[Text], cells: Sequence[Text], room: int
) -> Iterator[Text]:
    """Yield the lines of a row as a block: the first cell, and below it `head  cell` for others.

    Args:
        heads: The heads of the columns.
        cells: The cells of the row; empty ones are left out.
        room: The width of the lines.
    """
    yield cells[0]
    labels = heads[1:]
    label_width = max(map(_width, labels), default=0)
    indent = MARGIN + label_width + GAP
    for head, cell in zip(labels, cells[1:], strict=True):
        if not cell.plain:
            continue
        label = Text.assemble(" " * MARGIN, head)
        for part in _folded(cell, room - indent):
            label.pad_right(indent - label.cell_len)
            yield Text.assemble(label, part)
            label = Text()  # only the first line of a cell has its head


def _block(cells: Sequence[Text], room: int) -> Iterator[Text]:
    """Yield the lines of a row without heads as a block: the last cell is below the others."""
    *beside, below = cells
    filled = [cell for cell in beside if cell.plain]
    gap = Text(" " * GAP)
    yield gap.join(filled)
    for part in _folded(below, room - MARGIN):
        yield Text.assemble(" " * MARGIN, part)


def _text(cell: object, style: str) -> Text:
    """Return a cell as a text in the style of its column."""
    if not isinstance(cell, Text):
        return Text(str(cell), style)
    text = cell.copy()
    text.stylize_before(style)
    return text


def _width(cell: Text) -> int:
    lines = cell.plain.split("\n")
    return max(map(cell_len, lines))


def _word_widths(cell: Text) -> list[int]:
    """Return the widths of the words in a cell; of a text that may be cut off, what must stay."""
    if cell.no_wrap:
        return [min(_CUT_AT, cell.cell_len)]
    texts = cell.plain.split()
    return list(map(cell_len, texts))


def _share(spare: int, needs: Mapping[int, int], widths: list[int]) -> int:
    """Distribute spare room among columns: each gets what it needs, or an equal share.

    What a column with small needs leaves of its share goes to those with greater needs.

    Args:
        spare: The spare room.
        needs: By index of a column, how much wider it should be.
        widths: The width of each column; is changed.

    Returns:
        The spare room that is left.
    """
    remaining = len(needs)
    smallest_first = sorted(needs, key=lambda index: needs[index])
    for index in smallest_first:
        equal_share = spare // remaining
        share = min(needs[index], equal_share)
        widths[index] += share
        spare -= share
        remaining -= 1
    return spare


def _folded(cell: Text, width: int) -> list[Text]:
    """Return the lines of a cell in a width, broken between words, or cut off if it may be."""
    if cell.no_wrap:
        cut = cell.copy()
        cut.truncate(width, overflow=cell.overflow)
        return [cut]
    folded = fold(cell, width)
    return list(folded.split("\n", allow_blank=True))


def fold(text: Text, width: int) -> Text:
    """Break the lines of a text between words.

    Args:
        text: The text.
        width: The width of its lines; only a single word may be wider.

    Returns:
        The text with line breaks, which a console does not break again.
    """
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        offsets = _breaks(line.plain, width)
        for part in line.divide(offsets):
            part.rstrip()
            lines.append(part)
    # `join` gives its result the `end` of the separator.
    newline = Text("\n", end=text.end)
    return unbroken(newline.join(lines))


def _breaks(line: str, width: int) -> list[int]:
    """Return the offsets at which a line is broken, each at the beginning of a word."""
    offsets: list[int] = []
    used = 0
    for match in _WORD.finditer(line):
        word = match[0]
        start = match.start()
        width_with_word = used + cell_len(word.rstrip())
        # Never before the first word, which is at 0.
        if start and width_with_word > width:
            offsets.append(start)
            used = 0
        used += cell_len(word)
    return offsets


def unbroken(text: Text) -> Text:
    """Mark a text so that a console prints its lines unchanged, and return it.

    Args:
        text: The text, which is changed.
    """
    text.no_wrap = True
    text.overflow = "ignore"
    return text
