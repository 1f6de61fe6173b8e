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
_STYLES = {
    "ok": "ok",
    "undecided": "warn",
    "drift": "warn",
    "broken": "bad",
}
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
        width = min(console.width, _WIDEST)
        for table in _tables(state_table, width):
            console.print(table)
            console.print()
    groups_by_patch = view.groups_by_patch(report)
    for patch, groups in groups_by_patch.items():
        title = printable(patch) or "packs and releases"
        console.print(Text(title, style="heading"))
        for group in groups:
            _print_group(group, report, console)
        console.print()
    style = "ok"
    if report.worst:
        severity = report.worst.severity
        style = SEVERITY_STYLES[severity]
    tally = (view.tally(report), style)
    scope = (view.scope(report), "note")
    summary = Text.assemble(tally, "  ", scope)
    console.print(summary)


def _tables(state_table: view.StateTable, width: int) -> Iterator[Table]:
    """Lay out states in as many tables, one below the other, as their columns need."""
    if not state_table.rows:
        return
    heads = list(map(_head, state_table.runs))
    names = list(map(printable, state_table.rows))
    size = _columns_per_table(heads, names, state_table, width)
    for start in range(0, len(heads), size):
        part = slice(start, start + size)
        heads_of_part = heads[part]
        head_cells = [Text(head, style="note") for head in heads_of_part]
        state_columns = [whole() for _ in head_cells]
        table = columns(folded(), *state_columns)
        table.add_row("", *head_cells)
        for name, states in zip(names, state_table.rows.values(), strict=True):
            name_cell = Text(name, style="name")
            state_cells = map(_cell, states[part])
            table.add_row(name_cell, *state_cells)
        yield table


def _head(run: view.ReleaseRun) -> str:
    """Write the oldest and the newest version of a run, a line each."""
    versions = printable(str(run))
    return versions.replace(" - ", "\n- ")


def _columns_per_table(
    heads: Sequence[str], names: Sequence[str], state_table: view.StateTable, width: int
) -> int:
    """Return how many columns of states fit beside the names, which get half of the width."""
    name_lengths = map(cell_len, names)
    longest_name = max(name_lengths)
    name_width = min(longest_name, width // 2)
    room = width - name_width
    longest = 0
    for head in heads:
        for line in head.split("\n"):
            longest = max(longest, len(line))
    for states in state_table.rows.values():
        for state in states:
            text = state or ""
            longest = max(longest, len(text))
    column_width = longest + _GAP
    return max(room // column_width, 1)


def _cell(state: State | None) -> Text:
    if state is None:
        return Text("", "note")
    if state == "out-of-range":
        return Text("-", "note")
    style = _STYLES.get(state, "note")
    return Text(state, style)


def _print_group(group: view.FindingGroup, report: Report, console: Console) -> None:
    finding = group.finding
    code = finding.code
    fix, commands = view.fix_of(finding)
    title = (code.title, "name")
    description = Text.assemble(title)
    if finding.target:
        target = printable(finding.target)
        description.append(f"  {target}", "note")
    message = printable(finding.message)
    description.append(f"\n{message}")
    releases = view.release_spans(group.releases, report)
    location = view.location(finding)
    known_origins = filter(None, [releases, location])
    origin = "  ".join(known_origins)
    if origin:
        origin_line = printable(origin)
        description.append(f"\n{origin_line}", style="note")
    if fix:
        fix_line = Text.assemble(("\nfix: ", "note"), fix)
        description.append_text(fix_line)
    severity = view.severity_label(finding.severity)
    style = SEVERITY_STYLES[finding.severity]
    label = Text(f"  {code.code}\n  {severity}", style)
    label_column = whole(min_width=_LABEL_WIDTH)
    table = columns(label_column, folded())
    table.add_row(label, description)
    console.print(table)
    margin = " " * (_LABEL_WIDTH + _GAP)
    for command in commands:  # on one line however long, to be copied as it is
        command_line = Text(f"{margin}{command}")
        console.print(command_line, soft_wrap=True)
