"""`patchkit diff` for a person: each target, and how its source differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from patchkit.report.console import console
from patchkit.report.diff_lines import print_lines

if TYPE_CHECKING:
    from patchkit.report.shapes import ComparisonShape, DiffShape


def print_diff(data: DiffShape) -> None:
    """Print what upstream changed."""
    out = console()
    out.print(Text(f"{data['patch']}: {data['from']} to {data['to']}", style="heading"))
    for one in data["targets"]:
        out.print(Text(f"{one['target']}: {_words(one)}", style="name"))
        print_lines(one["diff"].splitlines(), out)


def _words(one: ComparisonShape) -> str:
    old, new = one["from"], one["to"]
    states = {old["state"], new["state"]}
    if states == {"absent"}:
        return "in neither of them"
    if new["target"] != old["target"]:
        return f"at {new['target']} by now" + (", changed" if one["changed"] else "")
    if len(states) > 1:
        return f"{old['state']}, then {new['state']}"
    if one["changed"]:
        return "changed"
    return "the same" if not one["diff"] else "changed in layout, comments or annotations alone"
