"""The ledger of packs: for a person, for an issue or a page, for a program, and as a badge."""

from collections.abc import Iterator, Sequence

from rich.table import Column
from rich.text import Text

from patchkit.analysis.check.debt import Debt
from patchkit.cli.report.as_json import named, to_json
from patchkit.cli.report.console import columns, console, whole
from patchkit.cli.report.words import count, markdown_table

_HEADS = ("patch", "since", "releases", "may go", "upstream", "why")
_STYLES = {"now": "warn", "open": "note"}


def print_debt(ledger: Sequence[Debt]) -> None:
    """Print a line for each patch, and the sum; what does not fit is cut off at the end."""
    page = columns(*map(whole, _HEADS[:4]), Column("upstream", ratio=1))
    for name, since, number, end, upstream, _ in _cells(ledger):
        told = Text(upstream, "note", no_wrap=True, overflow="ellipsis")
        page.add_row(Text(name, "name"), since, number, Text(end, _STYLES.get(end, "")), told)
    console().print(page, Text(f"\n{_sum(ledger)}", style="note"), sep="")


def debt_markdown(ledger: Sequence[Debt]) -> str:
    """Write a table and the sum."""
    return "\n".join([*markdown_table(_HEADS, _cells(ledger)), "", _sum(ledger)])


def debt_badge(ledger: Sequence[Debt]) -> str:
    """Write the JSON of a badge, as shields.io asks an endpoint for it."""
    return to_json({"schemaVersion": 1, "label": "patches", "message": _sum(ledger)})


def debt_json(ledger: Sequence[Debt]) -> str:
    """Write each patch with what keeps it."""
    patches = []
    for one in ledger:
        about = named(one.row.patch, "name", "why", "upstream", "sunset")
        ends = {name: getattr(one, name) or None for name in ("since", "merged", "until")}
        patches.append({**about, "pack": one.row.pack, "releases": one.needed, **ends})
    return to_json({"patches": patches, "summary": _sum(ledger)})


def _cells(ledger: Sequence[Debt]) -> Iterator[tuple[str, ...]]:
    for one in ledger:
        patch, number = one.row.patch, str(len(one.needed))
        yield patch.name, one.since or "-", number, one.end, patch.upstream or "-", patch.why or "-"


def _sum(ledger: Sequence[Debt]) -> str:
    over = sum(one.is_over for one in ledger)
    return count(len(ledger), "patch") + (f", {over} may go" if over else "")
