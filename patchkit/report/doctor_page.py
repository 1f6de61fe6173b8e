"""`patchkit doctor` for a person: one line a fact, with a mark where it matters."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console
from patchkit.report.hanging import print_hanging

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchkit.report.here import HealthLine


def print_doctor(lines: Iterable[HealthLine]) -> None:
    """Print the lines, topic by topic."""
    shown = []
    for topic, group in groupby(lines, lambda line: line.topic):
        shown.append((Text(topic, "heading"), Text(), ""))
        for _, mark, subject, message in group:
            word = "" if mark == "note" else mark
            shown.append((Text(f"  {word:4}", style=mark), Text(subject), message))
    print_hanging(console(), shown)
