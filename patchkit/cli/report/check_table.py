"""Prints the report of a check for people: tables of states, and then the findings."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report import check_view as view
from patchkit.cli.report.console import Line, print_lines
from patchkit.cli.report.finding_groups import (
    FindingGroup,
    fix_of,
    location,
    releases_of,
)
from patchkit.cli.report.merged_findings import (
    differences_of,
    merged_sections,
)
from patchkit.cli.report.release_spans import ReleaseRun
from patchkit.cli.report.undecided_names import (
    lines_of_module,
    undecided_by_module,
)
from patchkit.cli.report.words import count, one_line, printable

SEVERITY_STYLES = {"error": "bad", "warning": "warn", "info": "note"}
_STYLES = {
    "ok": "ok",
    "undecided": "warn",
    "drift": "warn",
    "broken": "bad",
}
_WIDEST = 120
"""The most columns for a table of states; a pipe has no width of its own."""
_GAP = 2
_LABEL_WIDTH = 11
"""The width of the label before a finding, `  PK104` and `  warning`."""
_NARROWEST = 20
"""The width of the text beside it, however narrow the terminal is."""
_NO_BREAK = "\N{NO-BREAK SPACE}"


def print_check(report: Report, console: Console) -> None:
    """Print the states, the findings, and a summary.

    Names and commands are never broken, even on a narrow terminal, so that they can be copied.

    Args:
        report: The report.
        console: The console.
    """
    for state_table in view.state_tables(report):
        title = printable(str(state_table))
        console.print(Text(title, style="heading"))
        width = min(console.width, _WIDEST)
        for lines in _tables(state_table, width):
            print_lines(console, lines)
            console.print()
    for patch, groups in merged_sections(report):
        title = printable(patch) or "packs and releases"
        console.print(Text(title, style="heading"), soft_wrap=True)
        by_module = undecided_by_module(groups)
        for group in groups:
            if not by_module or group.finding.code is not codes.NOT_DECIDED:
                _print_group(group, report, console)
        for module, of_module in by_module.items():
            _print_undecided(module, of_module, report, console)
        console.print()
    style = "ok"
    if report.worst:
        severity = report.worst.severity
        style = SEVERITY_STYLES[severity]
    tally = (view.tally(report), style)
    scope = (view.scope(report), "note")
    summary = Text.assemble(tally, "  ", scope)
    console.print(summary)


def _print_undecided(
    module: str, groups: Sequence[FindingGroup], report: Report, console: Console
) -> None:
    """Print the names of a module that cannot be decided, a line for each below its reason."""
    code = codes.NOT_DECIDED
    labels = [code.code, view.severity_label(code.severity)]
    names = count(len(groups), "name")
    lines = [f"{module}  {names}", *map(printable, lines_of_module(groups, report))]
    for number, line in enumerate(lines):
        label = ""
        if number < len(labels):
            label = f"  {labels[number]}"
        margin = Text(f"{label:{_LABEL_WIDTH}}", SEVERITY_STYLES[code.severity])
        console.print(margin.append(line, "" if number else "name"), soft_wrap=True)


def _tables(state_table: view.StateTable, width: int) -> Iterator[list[Line]]:
    """Yield the lines of the tables for one project: more than one if it has too many columns."""
    if not state_table.rows:
        return
    heads = list(map(_head, state_table.runs))
    names = list(map(printable, state_table.rows))
    size = _columns_per_table(heads, names, state_table, width)
    for start in range(0, len(heads), size):
        part = slice(start, start + size)
        lines = list(_head_lines(heads[part]))
        for name, states in zip(names, state_table.rows.values(), strict=True):
            name_cell = Text(name, style="name")
            state_cells = map(_cell, states[part])
            lines.append(([name_cell, *state_cells], ""))
        yield lines


def _head(run: ReleaseRun) -> list[str]:
    """Return the head of a run's column: the oldest and the newest version, a line each."""
    versions = printable(str(run))
    return versions.replace(" - ", "\n- ").split("\n")


def _head_lines(heads: Sequence[Sequence[str]]) -> Iterator[Line]:
    """Yield the lines of the header; some columns have heads of one line, and others of two."""
    height = max(map(len, heads))
    for number in range(height):
        cells = [Text("")]
        for head in heads:
            text = ""
            if number < len(head):
                text = head[number]
            cells.append(Text(text, style="note"))
        yield cells, ""


def _columns_per_table(
    heads: Sequence[Sequence[str]],
    names: Sequence[str],
    state_table: view.StateTable,
    width: int,
) -> int:
    """Return how many columns of states fit beside the names of patches; at least one.

    All columns are taken to be as wide as the widest of them.
    """
    room = width - max(map(cell_len, names))
    texts: list[str] = []
    for head in heads:
        texts += head
    for states in state_table.rows.values():
        texts += [state or "" for state in states]
    column_width = max(map(len, texts)) + _GAP
    return max(room // column_width, 1)


def _cell(state: State | None) -> Text:
    """Return the cell of a state; it is empty if the patch has nothing to do with the releases."""
    if state is None:
        return Text("", "note")
    if state == "out-of-range":
        return Text("-", "note")
    style = _STYLES.get(state, "note")
    return Text(state, style)


def _print_group(group: FindingGroup, report: Report, console: Console) -> None:
    """Print a group of findings, with its code and its severity in a column of their own."""
    finding = group.finding
    severity = view.severity_label(finding.severity)
    style = SEVERITY_STYLES[finding.severity]
    labels = [finding.code.code, severity]
    width = max(_NARROWEST, console.width - _LABEL_WIDTH)
    for number, line in enumerate(_group_lines(group, report, width)):
        label = ""
        if number < len(labels):
            label = f"  {labels[number]}"
        margin = Text(f"{label:{_LABEL_WIDTH}}", style)
        console.print(margin.append_text(line), soft_wrap=True)


def _group_lines(group: FindingGroup, report: Report, width: int) -> Iterator[Text]:
    """Yield the lines beside the label of a group, broken between words only."""
    finding = group.finding
    target = one_line(finding.target)
    yield from _heading(finding.code.title, target, width)
    message = printable(finding.message)
    for line in _wrapped(message, width, target):
        yield Text(line)
    known_origins = filter(None, [releases_of(group, report), location(finding)])
    origin = printable("  ".join(known_origins))
    for text in [origin, *differences_of(group, report)]:
        for line in _wrapped(printable(text), width):
            yield Text(line, "note")
    fix, commands = fix_of(finding)
    if fix:
        first, *others = _wrapped(f"fix: {fix}", width, target)
        label, space, text = first.partition(" ")  # the label `fix:` has a style
        yield Text.assemble((label, "note"), space, text)
        for line in [*others, *commands]:
            yield Text(line)


def _heading(title: str, target: str, width: int) -> Iterator[Text]:
    """Yield a title and a target, on one line if they fit, or else on two."""
    heading = Text(title, "name")
    if not target:
        yield heading
        return
    gap = " " * _GAP
    if cell_len(title) + _GAP + cell_len(target) <= width:
        yield heading.append(f"{gap}{target}", "note")
        return
    yield heading
    yield Text(target, "note")


def _wrapped(text: str, width: int, name: str = "") -> Iterator[str]:
    """Break the lines of a text between words, but not those that begin with a space: quotations.

    Args:
        text: The text.
        width: The width of the lines; only a single word may be wider.
        name: A name that is not broken, even if it has spaces; '' for none.

    Yields:
        The lines.
    """
    if name:  # `wrap` does not break it at no-break spaces
        text = text.replace(name, name.replace(" ", _NO_BREAK))
    for line in text.splitlines():
        if line.startswith(" "):
            yield line
            continue
        parts = wrap(line, width, break_long_words=False, break_on_hyphens=False)
        for part in parts:
            yield part.replace(_NO_BREAK, " ")
