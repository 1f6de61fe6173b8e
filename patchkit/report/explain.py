"""`patchkit explain` for a person."""

from __future__ import annotations

import re
from textwrap import fill, indent
from typing import TYPE_CHECKING

from rich.markdown import Markdown
from rich.text import Text

from patchkit.report.check_table import SEVERITIES
from patchkit.report.check_view import label
from patchkit.report.console import columns, console

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchkit.check.codes import Code

_WIDEST = 100
"""Longer lines of prose are hard to read."""
_CODE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def print_codes(codes: Iterable[Code]) -> None:
    """Print a line for each code."""
    table = columns()
    for code in codes:
        severity = Text(label(code.severity), SEVERITIES[code.severity])
        table.add_row(Text(code.code, "name"), severity, Text(code.title))
    console().print(table)


def print_explain(code: Code, text: str) -> None:
    """Print what a code means: laid out on a terminal, as plain text elsewhere."""
    out = console()
    out.print(Text(f"{code.code} {code.title}", style="heading"))
    out.print()
    if out.is_terminal:
        page = Markdown(text, code_theme="ansi_dark")
        out.print(page, width=min(out.width, _WIDEST))
    else:
        for part in _plain(text, min(out.width, _WIDEST)):
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
