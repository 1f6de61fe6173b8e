"""Writes the result of `list --debt`, in all formats: why each patch is still needed."""

from collections.abc import Iterator, Sequence

from rich.table import Column
from rich.text import Text

from patchkit.analysis.check.debt import Debt
from patchkit.cli.report.as_json import Data, named, to_json
from patchkit.cli.report.console import columns, console, whole
from patchkit.cli.report.words import count, markdown_table

_HEADS = ("patch", "since", "releases", "may go", "upstream", "why")
_STYLES = {"now": "warn", "open": "note"}


def print_debt(ledger: Sequence[Debt]) -> None:
    """Print a line for each patch, cut off at the end if it is too wide, and the sum.

    Args:
        ledger: The patches, each with the reasons why it is needed.
    """
    table = columns(*map(whole, _HEADS[:4]), Column("upstream", ratio=1))
    for name, since, releases, end, upstream, _why in _cells(ledger):
        table.add_row(
            Text(name, "name"),
            since,
            releases,
            Text(end, _STYLES.get(end, "")),
            Text(upstream, "note", no_wrap=True, overflow="ellipsis"),
        )
    console().print(table, Text(f"\n{_sum(ledger)}", style="note"), sep="")


def debt_markdown(ledger: Sequence[Debt]) -> str:
    """Return a Markdown table of the patches, and the sum.

    Args:
        ledger: The patches, each with the reasons why it is needed.
    """
    return "\n".join([*markdown_table(_HEADS, _cells(ledger)), "", _sum(ledger)])


def debt_badge(ledger: Sequence[Debt]) -> str:
    """Return the JSON of a badge: how many patches there are, and how many of them may go.

    It has the format of shields.io's endpoints.

    Args:
        ledger: The patches, each with the reasons why it is needed.
    """
    return to_json({"schemaVersion": 1, "label": "patches", "message": _sum(ledger)})


def debt_json(ledger: Sequence[Debt]) -> str:
    """Return each patch with the reasons why it is needed, as JSON.

    Args:
        ledger: The patches.
    """
    return to_json(
        {"patches": [_entry(debt) for debt in ledger], "summary": _sum(ledger)}
    )


def _entry(debt: Debt) -> Data:
    """Return a patch, the releases that need it, and the release at which it may go."""
    return {
        **named(debt.row.patch, "name", "why", "upstream", "sunset"),
        "pack": debt.row.pack,
        "releases": debt.needed,
        "since": debt.since or None,
        "merged": debt.merged or None,
        "until": debt.until or None,
    }


def _cells(ledger: Sequence[Debt]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each patch, in the order of `_HEADS`."""
    for debt in ledger:
        patch = debt.row.patch
        yield (
            patch.name,
            debt.since or "-",
            str(len(debt.needed)),
            debt.end,
            patch.upstream or "-",
            patch.why or "-",
        )


def _sum(ledger: Sequence[Debt]) -> str:
    """Return how many patches there are, and how many may be deleted: `5 patches, 2 may go`."""
    removable = sum(debt.is_over for debt in ledger)
    patches = count(len(ledger), "patch")
    if removable:
        return f"{patches}, {removable} may go"
    return patches
