"""`patchkit diff` for a person: each target, and how its source differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report import diff_view
from patchkit.report.console import console, print_diff_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchkit.check.comparison import Comparison


def print_diff(title: str, several: Sequence[Comparison], *, side_by_side: bool) -> None:
    """Print what upstream changed; a unified diff where nobody looks at it."""
    out = console()
    out.print(Text(title, style="heading"))
    for one in several:
        words = f"{one.target}: {_words(one)}"
        if out.is_terminal and one.diff:
            diff_view.print_diff(words, one.old.text, one.new.text, out, side_by_side=side_by_side)
            continue
        out.print(Text(words, style="name"))
        print_diff_lines(one.diff.splitlines(), out)


def _words(one: Comparison) -> str:
    old, new = one.old, one.new
    states = {old.facts.state, new.facts.state}
    if states == {"absent"}:
        return "in neither of them"
    if new.place != old.place:
        return f"at {new.place} by now" + (", changed" if one.changed else "")
    if len(states) > 1:
        return f"{old.facts.state}, then {new.facts.state}"
    if one.changed:
        return "changed"
    return "the same" if not one.diff else "changed in layout, comments or annotations alone"
