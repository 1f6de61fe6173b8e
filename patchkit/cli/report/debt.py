"""Write the ledger of packs: for a person, as Markdown, as JSON, and as a badge."""

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
    """Print a line for each patch, and the sum; what does not fit is cut off at the end.

    Args:
        ledger: The patches, each with what keeps it.
    """
    table = columns(*map(whole, _HEADS[:4]), Column("upstream", ratio=1))
    for name, since, releases, end, upstream, _ in _cells(ledger):
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
        ledger: The patches, each with what keeps it.
    """
    return "\n".join([*markdown_table(_HEADS, _cells(ledger)), "", _sum(ledger)])


def debt_badge(ledger: Sequence[Debt]) -> str:
    """Return the JSON of a badge, as shields.io asks an endpoint for it.

    Args:
        ledger: The patches, each with what keeps it.
    """
    return to_json({"schemaVersion": 1, "label": "patches", "message": _sum(ledger)})


def debt_json(ledger: Sequence[Debt]) -> str:
    """Return each patch with what keeps it, as JSON.

    Args:
        ledger: The patches.
    """
    return to_json(
        {"patches": [_entry(debt) for debt in ledger], "summary": _sum(ledger)}
    )


def _entry(debt: Debt) -> Data:
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
    removable = sum(debt.is_over for debt in ledger)
    patches = count(len(ledger), "patch")
    if removable:
        return f"{patches}, {removable} may go"
    return patches
