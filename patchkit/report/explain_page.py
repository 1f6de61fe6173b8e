"""`patchkit explain` for a person."""

from __future__ import annotations

import re
from textwrap import fill, indent
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from patchkit.report.console import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.report.shapes import ExplainShape

_WIDEST = 100
"""Longer lines of prose are hard to read."""
_CODE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STYLES = {"error": "bad", "warning": "warn", "info": "note"}


def print_explain(one: ExplainShape) -> None:
    """Print a section: laid out on a terminal, as plain text elsewhere."""
    out = console()
    out.print(Text(f"{one['code']} {one['title']}", style="heading"))
    out.print()
    if out.is_terminal:
        text = Markdown(one["text"], code_theme="ansi_dark")
        out.print(text, width=min(out.width, _WIDEST))
    else:
        for part in _plain(one["text"], min(out.width, _WIDEST)):
            out.print(Text(part), soft_wrap=True)


def _plain(text: str, width: int) -> Iterator[str]:
    """Fill paragraphs anew and indent code, with a blank line after each."""
    for at, part in enumerate(_CODE.split(text)):
        if at % 2:
            yield indent(part, "    ")
            continue
        for paragraph in filter(None, part.strip().split("\n\n")):
            words = " ".join(paragraph.split())
            yield fill(words, width, break_long_words=False, break_on_hyphens=False) + "\n"


def print_codes(several: Iterable[ExplainShape]) -> None:
    """Print a line for each code."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for one in several:
        severity = "note" if one["severity"] == "info" else one["severity"]
        style = _STYLES[one["severity"]]
        table.add_row(Text(one["code"], "name"), Text(severity, style), Text(one["title"]))
    console().print(table)
