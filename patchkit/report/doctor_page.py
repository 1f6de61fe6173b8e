"""`patchkit doctor` for a person: one line a fact, with a mark where it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console
from patchkit.report.hanging import print_hanging

if TYPE_CHECKING:
    from patchkit.report.shapes import CheckShape, DoctorShape


def print_doctor(data: DoctorShape) -> None:
    """Print the checks, topic by topic."""
    lines = []
    topic = ""
    for check in data["checks"]:
        if check["topic"] != topic:
            topic = check["topic"]
            lines.append((Text(topic, "heading"), Text(), ""))
        lines.append((_mark(check), Text(check["subject"]), check["message"]))
    print_hanging(console(), lines)


def _mark(check: CheckShape) -> Text:
    word = "" if check["mark"] == "note" else check["mark"]
    return Text(f"  {word:4}", style=check["mark"])
