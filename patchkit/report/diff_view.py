"""Two texts of Python, and what is different."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from patchkit.report.words import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    Opcode = tuple[str, int, int, int, int]

_CONTEXT = 3
_REMOVED, _ADDED = "on #3c1618", "on #12301a"
_NUMBER = 5


def print_diff(title: str, old: str, new: str, console: Console) -> None:
    """Print on a terminal how a text became another."""
    before, after = old.splitlines(), new.splitlines()
    console.print(Text(printable(title), style="heading"))
    hunks = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT)
    left, right = _colored(before), _colored(after)
    for hunk in hunks:
        console.print(_position(hunk))
        console.print(_hunk(hunk, left, right))


def _colored(lines: Sequence[str]) -> list[Text]:
    """Color lines as Python, which they need not be in full."""
    plain = [printable(line.expandtabs(4)).replace("\n", " ") for line in lines]
    syntax = Syntax("", "python", theme="ansi_dark", background_color="default")
    colored = syntax.highlight("\n".join(plain)).split("\n", allow_blank=True)
    # The highlighter drops empty lines at the start and the end: then colors do not count.
    same = [text.plain for text in colored[: len(plain)]] == plain
    return list(colored[: len(plain)]) if same else [Text(line) for line in plain]


def _position(hunk: Sequence[Opcode]) -> Text:
    first, last = hunk[0], hunk[-1]
    old = f"-{first[1] + 1},{last[2] - first[1]}"
    new = f"+{first[3] + 1},{last[4] - first[3]}"
    return Text(f"@@ {old} {new} @@", style="cyan")


def _hunk(hunk: Sequence[Opcode], old: Sequence[Text], new: Sequence[Text]) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0), expand=True)
    for width in (_NUMBER, _NUMBER, 1):
        table.add_column(width=width, justify="right", style="note", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for tag, old_from, old_to, new_from, new_to in hunk:
        if tag == "equal":
            for number, text in enumerate(old[old_from:old_to]):
                table.add_row(str(old_from + number + 1), str(new_from + number + 1), "", text)
            continue
        for number in range(old_from, old_to):
            table.add_row(str(number + 1), "", Text("-", "bad"), old[number], style=_REMOVED)
        for number in range(new_from, new_to):
            table.add_row("", str(number + 1), Text("+", "ok"), new[number], style=_ADDED)
    return table
