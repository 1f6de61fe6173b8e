"""Where a row stands in its file."""

from __future__ import annotations

import os
import re
import sys


def place_of_row(pack: str, patch: str | None) -> tuple[str, int | None] | None:
    """
    Return the file and line of a row, or of the pack itself where no row is named.

    Returns:
        None where the pack has not been imported, or has no file.

    """
    file = getattr(sys.modules.get(pack), "__file__", None)
    if file is None:
        return None
    return shown(file), _line(file, patch) if patch is not None else None


def shown(file: str | os.PathLike[str]) -> str:
    """Write a path as people and GitHub want it: relative to here where it lies below."""
    path = os.path.realpath(file)
    try:
        here = os.path.join(os.path.realpath(os.getcwd()), "")  # noqa: PTH109, PTH118 - as below
    except OSError:
        return path
    return path.removeprefix(here)


def _line(file: str, patch: str) -> int | None:
    """Find the line where a row is named; else the first that has its name at all."""
    try:
        with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123 - no pathlib at a start
            lines = opened.read().splitlines()
    except OSError:
        return None
    name = rf"""["']{re.escape(patch)}["']"""
    for written in (rf"\bname\s*=\s*{name}", name):
        for at, line in enumerate(lines, start=1):
            if re.search(written, line):
                return at
    return None
