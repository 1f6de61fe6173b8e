"""Lay out tables so that no word of a cell is broken: names and paths can be copied."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Column, Table
from rich.text import Text

GAP = 2
"""Blanks between two columns."""
MARGIN = 4
"""Blanks before what stands below the cells that it belongs to."""
_WORD = re.compile(r"\s*\S+\s*")
"""A word of a line, with the blanks behind it; the first one with those before it."""
_CUT_AT = 16
"""What is always left of a text that may be cut."""


class ReportTable(Table):
    """A table whose cells fold between words only.

    Where its columns have no room beside each other, each row becomes a block of lines. A word that
    is wider than the terminal runs over its edge.

    Args:
        *heads: The columns; there is a line of heads if any of them has one.
        indent: The blanks before each line.
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
        """Yield the lines of the table.

        Args:
            console: The console that they are printed on.
            options: How wide they may be.
        """
        heads = [_text(column.header, "table.header") for column in self.columns]
        rows = self._rows()
        room = options.max_width - self.indent
        widths = self._widths([heads, *rows], room)
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
                yield unbroken(Text.assemble(" " * self.indent, line))

    def _rows(self) -> list[list[Text]]:
        """Return the cells of each row as texts in the style of their column."""
        by_column = [
            [_text(cell, str(column.style)) for cell in column.cells]
            for column in self.columns
        ]
        return [list(cells) for cells in zip(*by_column, strict=True)]

    def _widths(self, rows: Sequence[Sequence[Text]], room: int) -> list[int] | None:
        """Return the width of each column; None where they have no room beside each other."""
        smallest: list[int] = []
        largest: list[int] = []
        for column, cells in zip(self.columns, zip(*rows, strict=True), strict=True):
            widest = max(column.min_width or 0, *map(_width, cells))
            least = widest
            if not column.no_wrap:
                words = [word for cell in cells for word in _word_widths(cell)]
                if column is self.columns[-1]:
                    # What has no room below the others either may run over the edge.
                    words = [word for word in words if word <= room - MARGIN]
                least = max(words, default=1)
            smallest.append(least)
            largest.append(widest)
        spare = room - GAP * (len(largest) - 1) - sum(smallest)
        if spare < 0:
            return None
        # What may be cut gets what the others leave.
        for is_cut in (False, True):
            needs = {
                index: largest[index] - smallest[index]
                for index, cells in enumerate(zip(*rows, strict=True))
                if any(cell.no_wrap for cell in cells) == is_cut
            }
            spare = _share(spare, needs, smallest)
        return smallest

    def _line(self, cells: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
        """Lay out the cells of a row beside each other."""
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
    """Lay out the cells of a row below the first, each behind the head of its column."""
    yield cells[0]
    label_width = max(map(_width, heads[1:]), default=0)
    indent = MARGIN + label_width + GAP
    for head, cell in zip(heads[1:], cells[1:], strict=True):
        if not cell.plain:
            continue
        label = Text.assemble(" " * MARGIN, head)
        for part in _folded(cell, room - indent):
            label.pad_right(indent - label.cell_len)
            yield Text.assemble(label, part)
            label = Text()


def _block(cells: Sequence[Text], room: int) -> Iterator[Text]:
    """Lay out the cells of a row beside each other, but the last, which stands below them."""
    *beside, below = cells
    yield Text(" " * GAP).join([cell for cell in beside if cell.plain])
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
    return max(map(cell_len, cell.plain.split("\n")))


def _word_widths(cell: Text) -> list[int]:
    if cell.no_wrap:
        return [min(_CUT_AT, cell.cell_len)]
    return list(map(cell_len, cell.plain.split()))


def _share(spare: int, needs: Mapping[int, int], widths: list[int]) -> int:
    """Widen columns: by what each needs, or by its equal share of the spare room.

    Args:
        spare: The room that is left.
        needs: By column, how much it lacks.
        widths: The width of each column, which is changed.

    Returns:
        The room that is left now.
    """
    remaining = len(needs)
    for index in sorted(needs, key=lambda index: needs[index]):
        share = min(needs[index], spare // remaining)
        widths[index] += share
        spare -= share
        remaining -= 1
    return spare


def _folded(cell: Text, width: int) -> list[Text]:
    """Return the lines of a cell, folded between words; a text that may be cut is."""
    if cell.no_wrap:
        cut = cell.copy()
        cut.truncate(width, overflow=cell.overflow)
        return [cut]
    return list(fold(cell, width).split("\n", allow_blank=True))


def fold(text: Text, width: int) -> Text:
    """Break the lines of a text between words.

    Args:
        text: The text.
        width: How wide its lines may be; a line with one longer word is wider.

    Returns:
        A text that a console prints line by line as it is.
    """
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        for part in line.divide(_breaks(line.plain, width)):
            part.rstrip()
            lines.append(part)
    return unbroken(Text("\n", end=text.end).join(lines))


def _breaks(line: str, width: int) -> list[int]:
    """Return the offsets of the words before which a line is to be broken."""
    offsets: list[int] = []
    used = 0
    for match in _WORD.finditer(line):
        word = match[0]
        if match.start() and used + cell_len(word.rstrip()) > width:
            offsets.append(match.start())
            used = 0
        used += cell_len(word)
    return offsets


def unbroken(text: Text) -> Text:
    """Have a console print the lines of a text as they are.

    Args:
        text: The text, which is changed.

    Returns:
        The text.
    """
    text.no_wrap = True
    text.overflow = "ignore"
    return text
