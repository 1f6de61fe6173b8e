"""Print the report of a check for a person: tables of states, then the findings."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.console import columns, folded, whole
from patchkit.cli.report.words import printable

SEVERITY_STYLES = {"error": "bad", "warning": "warn", "info": "note"}
_STYLES = {"ok": "ok", "undecided": "warn", "drift": "warn", "broken": "bad"}
_WIDEST = 120
"""A pipe is endlessly wide; no table needs to be."""
_GAP = 2
_LABEL_WIDTH = 9


def print_check(report: Report, console: Console) -> None:
    """Print the states, the findings of each patch, and a line that sums them up.

    Args:
        report: The report.
        console: Where it is printed.
    """
    for state_table in view.state_tables(report):
        title = printable(str(state_table))
        console.print(Text(title, style="heading"))
        for table in _tables(state_table, min(console.width, _WIDEST)):
            console.print(table)
            console.print()
    for patch, groups in view.groups_by_patch(report).items():
        title = printable(patch) or "packs and releases"
        console.print(Text(title, style="heading"))
        for group in groups:
            _print_group(group, report, console)
        console.print()
    style = "ok"
    if report.worst:
        style = SEVERITY_STYLES[report.worst.severity]
    tally = (view.tally(report), style)
    scope = (view.scope(report), "note")
    console.print(Text.assemble(tally, "  ", scope))


def _tables(state_table: view.StateTable, width: int) -> Iterator[Table]:
    """Lay out states in as many tables, one below the other, as their columns need."""
    if not state_table.rows:
        return
    heads = [printable(str(run)).replace(" - ", "\n- ") for run in state_table.runs]
    names = [printable(name) for name in state_table.rows]
    size = _columns_per_table(heads, names, state_table, width)
    for start in range(0, len(heads), size):
        part = slice(start, start + size)
        head_cells = [Text(head, style="note") for head in heads[part]]
        state_columns = [whole() for _ in head_cells]
        table = columns(folded(), *state_columns)
        table.add_row("", *head_cells)
        for name, states in zip(names, state_table.rows.values(), strict=True):
            state_cells = map(_cell, states[part])
            table.add_row(Text(name, style="name"), *state_cells)
        yield table


def _columns_per_table(
    heads: Sequence[str], names: Sequence[str], state_table: view.StateTable, width: int
) -> int:
    """Return how many columns of states fit beside the names, which get half of the width."""
    longest_name = max(map(cell_len, names))
    room = width - min(longest_name, width // 2)
    longest = 0
    for head in heads:
        for line in head.split("\n"):
            longest = max(longest, len(line))
    for states in state_table.rows.values():
        for state in states:
            longest = max(longest, len(state or ""))
    return max(room // (longest + _GAP), 1)


def _cell(state: State | None) -> Text:
    if state is None:
        return Text("", "note")
    if state == "out-of-range":
        return Text("-", "note")
    return Text(state, _STYLES.get(state, "note"))


def _print_group(group: view.FindingGroup, report: Report, console: Console) -> None:
    finding = group.finding
    fix, commands = view.fix_of(finding)
    description = Text.assemble((finding.code.title, "name"))
    if finding.target:
        description.append(f"  {printable(finding.target)}", "note")
    message = printable(finding.message)
    description.append(f"\n{message}")
    origin = [view.release_spans(group.releases, report), view.location(finding)]
    if any(origin):
        origin_line = "  ".join(filter(None, origin))
        description.append(f"\n{printable(origin_line)}", style="note")
    if fix:
        description.append_text(Text.assemble(("\nfix: ", "note"), fix))
    label = f"  {finding.code.code}\n  {view.severity_label(finding.severity)}"
    table = columns(whole(min_width=_LABEL_WIDTH), folded())
    table.add_row(Text(label, SEVERITY_STYLES[finding.severity]), description)
    console.print(table)
    margin = " " * (_LABEL_WIDTH + _GAP)
    for command in commands:  # on one line however long, to be copied as it is
        console.print(Text(f"{margin}{command}"), soft_wrap=True)
