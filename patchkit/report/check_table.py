"""`patchkit check` for a person: a grid of patches and releases, then what was found."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from patchkit.check.findings import Report, State
from patchkit.report import check_view as view
from patchkit.report.console import columns, folded, whole
from patchkit.report.words import printable

Cell = tuple[str, str]
SEVERITIES = {"error": "bad", "warning": "warn", "info": "note"}
_STYLES = {None: "", "ok": "ok", "undecided": "warn", "drift": "warn", "broken": "bad"}
_MARKS = dict(zip(view.WORDS, "✓?¿~✗·", strict=True))
_WORDS = {state: "-" if state == "out-of-range" else state for state in view.WORDS}
_ENDLESS, _WIDEST = 1_000, 120
"""A pipe is endlessly wide; no grid needs to be."""
_GAP, _LABEL = 2, 9


def print_check(report: Report, console: Console) -> None:
    """Print the grids and the findings."""
    room = console.width if console.width < _ENDLESS else _WIDEST
    used: set[str] = set()
    for grid in view.grids(report):
        console.print(Text(printable(str(grid)), style="heading"))
        for table in _tables(grid, room, used):
            console.print(table)
            console.print()
    if used:
        console.print(_legend(view.legend(report), used))
        console.print()
    for patch, found in view.groups(report).items():
        console.print(Text(printable(patch) or "packs and releases", style="heading"))
        for group in found:
            _print_group(group, report, console)
        console.print()
    style = SEVERITIES[report.worst.severity] if report.worst else "ok"
    summary = (view.tally(report), style), "  ", (view.looked_at(report), "note")
    console.print(Text.assemble(*summary))


def _tables(grid: view.StateTable, room: int, used: set[str]) -> Iterator[Table]:
    """Give one table with words where there is room, else as many as are needed with marks."""
    if not grid.rows:
        return
    heads = [str(run).replace(" - ", "\n- ") for run in grid.runs]
    if _width(table := _level(grid, heads, _WORDS)) <= room:
        yield table
        return
    used.update(str(state) for row in grid.rows.values() for state in row if state)
    heads = [run.first for run in grid.runs]
    left = max(room - sum(cell_len(head) + _GAP for head in heads), 16)
    if _width(table := _level(grid, heads, _MARKS, left)) <= room:
        yield table
        return
    names = [_cropped(name, max(room * 2 // 5, 16)) for name in grid.rows]
    left = room - max(map(len, names)) - _GAP
    step = 2 if len(grid.runs) * 2 <= left else 1
    size = max(left // step, 1)
    for start in range(0, len(grid.runs), size):
        yield _upright(grid, names, slice(start, start + size), step)


def _level(
    grid: view.StateTable, heads: Sequence[str], texts: Mapping[str, str], room: int = _ENDLESS
) -> Table:
    table = columns(whole(), *(whole() for _ in heads))
    table.add_row("", *(Text(printable(head), style="note") for head in heads))
    for name, row in grid.rows.items():
        label = Text(_cropped(name, room), style="name")
        table.add_row(label, *(Text(*cell) for cell in _cells(row, texts)))
    return table


def _width(table: Table) -> int:
    return Console(width=_ENDLESS).measure(table).maximum - _GAP  # behind the last column


def _upright(grid: view.StateTable, names: Sequence[str], part: slice, step: int) -> Table:
    table = columns(whole(style="name"), whole(overflow="crop"))
    heads = [printable(run.first) for run in grid.runs[part]]
    for line in range(height := max(map(len, heads))):
        letters = (head.rjust(height)[line].ljust(step) for head in heads)
        table.add_row("", Text("".join(letters), style="note"))
    for name, row in zip(names, grid.rows.values(), strict=True):
        table.add_row(Text(name), Text.assemble(*_cells(row[part], _MARKS, step)))
    return table


def _cells(row: Iterable[State | None], texts: Mapping[str, str], width: int = 0) -> list[Cell]:
    return [(texts.get(at or "", "").ljust(width), _STYLES.get(at, "note")) for at in row]


def _cropped(name: str, room: int) -> str:
    """Cut the middle out: names that begin alike differ at their ends."""
    name = printable(name)
    if cell_len(name) <= room:
        return name
    end = room // 2
    return f"{set_cell_size(name, room - end - 1).rstrip()}…{name[-end:]}"


def _legend(meanings: Mapping[str, str], used: set[str]) -> Text:
    parts = [
        Text.assemble((_MARKS[state], _STYLES.get(state, "note")), " ", words)
        for state, words in meanings.items()
        if state in used
    ]
    more = "a column begins at the release above it and lasts until the next one's"
    return Text.assemble(Text("\n").join(parts), "\n", (more, "note"))


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
