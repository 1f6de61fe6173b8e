"""`patchkit check` for a person: a grid of patches and releases, then what was found."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.console import columns, folded, whole
from patchkit.cli.report.words import printable

SEVERITIES = {"error": "bad", "warning": "warn", "info": "note"}
_STYLES = {"ok": "ok", "undecided": "warn", "drift": "warn", "broken": "bad"}
_WIDEST = 120
"""A pipe is endlessly wide; no grid needs to be."""
_GAP, _LABEL = 2, 9


def print_check(report: Report, console: Console) -> None:
    """Print the grids and the findings."""
    for grid in view.grids(report):
        console.print(Text(printable(str(grid)), style="heading"))
        for table in _tables(grid, min(console.width, _WIDEST)):
            console.print(table)
            console.print()
    for patch, found in view.groups(report).items():
        console.print(Text(printable(patch) or "packs and releases", style="heading"))
        for group in found:
            _print_group(group, report, console)
        console.print()
    style = SEVERITIES[report.worst.severity] if report.worst else "ok"
    summary = (view.tally(report), style), "  ", (view.looked_at(report), "note")
    console.print(Text.assemble(*summary))


def _tables(grid: view.StateTable, room: int) -> Iterator[Table]:
    """Give as many tables as all columns need, one below the other."""
    heads = [printable(str(run)).replace(" - ", "\n- ") for run in grid.runs]
    columns_of = [*zip(heads, *grid.rows.values(), strict=True)] if grid.rows else []
    texts = [line for texts in columns_of for text in texts for line in (text or "").split("\n")]
    names = [printable(name) for name in grid.rows]
    left = room - min(max(map(cell_len, names), default=0), room // 2)
    size = max(left // (max(map(len, texts), default=0) + _GAP), 1)
    for start in range(0, len(columns_of), size):
        part = slice(start, start + size)
        table = columns(folded(), *(whole() for _ in heads[part]))
        table.add_row("", *(Text(head, style="note") for head in heads[part]))
        for name, row in zip(names, grid.rows.values(), strict=True):
            table.add_row(Text(name, style="name"), *map(_cell, row[part]))
        yield table


def _cell(state: State | None) -> Text:
    text = "-" if state == "out-of-range" else state or ""
    return Text(text, _STYLES.get(text, "note"))


def _print_group(group: view.Group, report: Report, console: Console) -> None:
    finding = group.finding
    style, (fix, commands) = SEVERITIES[finding.severity], view.fix_of(finding)
    label = f"  {finding.code.code}\n  {view.label(finding.severity)}"
    target = f"  {printable(finding.target)}" if finding.target else ""
    said = Text.assemble((finding.code.title, "name"), (target, "note"))
    said.append(f"\n{printable(finding.message)}")
    places = [view.spans(group.releases, report), view.where(finding)]
    if line := "  ".join(filter(None, places)):
        said.append(f"\n{printable(line)}", style="note")
    if fix:
        said.append_text(Text.assemble(("\nfix: ", "note"), fix))
    table = columns(whole(min_width=_LABEL), folded())
    table.add_row(Text(label, style), said)
    console.print(table)
    for command in commands:  # in one line however long, to be copied as it is
        console.print(Text(f"{' ' * (_LABEL + _GAP)}{command}"), soft_wrap=True)
