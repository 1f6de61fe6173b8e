"""`patchkit diff` for a person: each target, and how its source differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report import diff_view
from patchkit.report.console import console, print_diff_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.comparison import Comparison


def print_diff(title: str, several: Sequence[Comparison]) -> None:
    """Print what upstream changed; a unified diff where nobody looks at it."""
    out = console()
    out.print(Text(title, style="heading"))
    for comparison in several:
        words = f"{comparison.target}: {_words(comparison)}"
        if out.is_terminal and comparison.diff:
            texts = comparison.old.text, comparison.new.text
            diff_view.print_diff(words, *texts, out)
            continue
        out.print(Text(words, style="name"))
        print_diff_lines(comparison.diff.splitlines(), out)


def _words(comparison: Comparison) -> str:
    old, new = comparison.old, comparison.new
    states = {old.facts.state, new.facts.state}
    if states == {"absent"}:
        return "in neither of them"
    if new.place != old.place:
        return f"at {new.place} by now" + (", changed" if comparison.changed else "")
    if len(states) > 1:
        return f"{old.facts.state}, then {new.facts.state}"
    if comparison.changed:
        return "changed"
    return "the same" if not comparison.diff else "changed in layout, comments or annotations alone"
