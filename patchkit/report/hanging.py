"""Lines of three columns, of which the last is wrapped between words and never within one."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from patchkit.report.words import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

    Line = tuple[Text, Text, str]

_GAP = 2
_LEAST = 30


def print_hanging(out: Console, lines: Sequence[Line]) -> None:
    """
    Print marks, subjects and what is said of them.

    A path that is longer than its column goes on past it, so that it can be copied whole.
    """
    mark = max((line[0].cell_len for line in lines if line[2]), default=0) + _GAP
    subject = max((line[1].cell_len for line in lines), default=0) + _GAP
    if out.width - mark - subject < _LEAST:
        subject = _GAP * 2
    for line in lines:
        out.print(_laid_out(line, mark, subject, out.width), soft_wrap=True)


def _laid_out(line: Line, mark: int, subject: int, width: int) -> Text:
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
