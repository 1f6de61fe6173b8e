"""The terminal that tables are printed on."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.theme import Theme

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
    }
)


def console() -> Console:
    """
    Open stdout for tables.

    Texts are printed as they are: a requirement such as `ray[data]` is no markup. A pipe or a file
    is not wrapped, so that `grep` finds whole lines, unless COLUMNS asks for a width.
    """
    wrapped = sys.stdout.isatty() or "COLUMNS" in os.environ or "FORCE_COLOR" in os.environ
    return Console(
        width=None if wrapped else _WIDE_ENOUGH,
        theme=_THEME,
        markup=False,
        emoji=False,
        highlight=False,
    )
