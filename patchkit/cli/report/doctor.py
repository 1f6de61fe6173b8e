"""`patchkit doctor`, `bootstrap status`, `explain` and `bisect` for a person."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.table import Column
from rich.text import Text

from patchkit.analysis.check.codes import Code
from patchkit.cli.report.check_table import SEVERITY_STYLES
from patchkit.cli.report.check_view import severity_label
from patchkit.cli.report.console import Line, columns, console, print_lines, whole
from patchkit.cli.report.here import HealthLine
from patchkit.cli.report.words import count
from patchkit.runtime.bootstrap.install import Bootstrap

_MARKS = {"installed": "ok", "absent": "note", "foreign": "bad"}
_FIXES = {
    "incomplete": "a file is missing: 'patchkit bootstrap install' writes it again",
    "outdated": "of another patchkit: 'patchkit bootstrap install' brings it up to date",
    "foreign": "a file is not patchkit's: move it away",
}
_WIDEST = 100
"""Longer lines of prose are hard to read."""
_FEW = 3
_WORDS = {"good": "ok", "skipped": "warn", "bad": "bad"}


def print_doctor(lines: Iterable[HealthLine]) -> None:
    """Print one line a fact, topic by topic, with a mark where it matters."""
    shown: list[Line] = []
    for topic, group in groupby(lines, lambda line: line.topic):
        shown.append(([Text(topic, "heading")], ""))
        for _, mark, subject, message in group:
            word = "" if mark == "note" else mark
            shown.append(([Text(f"  {word:4}", style=mark), Text(subject)], message))
    print_lines(console(), shown)


def print_bootstrap(
    folder: Path, bootstrap: Bootstrap, switch: str | None, location: str | None
) -> None:
    """Print the state, what PATCHKIT makes of it, where it finds patchkit, and its files."""
    is_on = (switch or "").strip() == "1"
    effect = "processes of this environment are armed" if is_on else "it waits for PATCHKIT=1"
    found = Text("found", "ok") if location else Text("not found", "bad")
    lines = [([Text("bootstrap", "heading"), _state(bootstrap.state)], str(folder))]
    if bootstrap.state in _FIXES:
        lines.append(([Text(), Text()], _FIXES[bootstrap.state]))
    is_there = bootstrap.state != "absent"
    lines.append(([Text("PATCHKIT"), Text(switch or "not set")], effect if is_there else ""))
    lines.append(([Text("patchkit"), found], location or ""))
    lines += [([Text("file"), _state(state)], file.name) for file, state in bootstrap.files.items()]
    print_lines(console(), lines)


def _state(state: str) -> Text:
    return Text(state, style=_MARKS.get(state, "warn"))


def print_codes(codes: Iterable[Code]) -> None:
    """Print a line for each code."""
    table = columns()
    for code in codes:
        severity = Text(severity_label(code.severity), SEVERITY_STYLES[code.severity])
        table.add_row(Text(code.code, "name"), severity, Text(code.title))
    console().print(table)


def print_explain(code: Code, text: str) -> None:
    """Print what a code means, laid out as on a page."""
    out = console()
    out.print(Text(f"{code.code} {code.title}\n", style="heading"))
    from rich.markdown import Markdown  # noqa: PLC0415 - it costs more than all else here

    out.print(Markdown(text, code_theme="ansi_dark"), width=min(out.width, _WIDEST))


def print_bisection(
    culprits: Sequence[str],
    beside: Sequence[str],
    judged_runs: Iterable[tuple[Mapping[str, Any], str]],
    folder: str,
) -> None:
    """Print the runs in order, each with its verdict, and the culprits last."""
    table = columns(*map(whole, ("run", "exit", "", "seconds")), Column("patches"))
    for number, (run, word) in enumerate(judged_runs, 1):
        names = run["patches"]
        told = ", ".join(names) if len(names) <= _FEW else count(len(names), "patch")
        facts = str(number), str(run["exit"]), Text(word, _WORDS[word]), f"{run['seconds']:.1f}"
        table.add_row(*facts, Text(told or "none"))
    out = console()
    out.print(table)
    line = Text("\nculprits, together: " if len(culprits) > 1 else "\nculprit: ")
    line.append(", ".join(culprits), "bad")
    line.append(f"; tried with {', '.join(beside)}, which come before" if beside else "", "note")
    out.print(line, soft_wrap=True)
    out.print(Text(f"outputs and journals: {folder}", "note"), soft_wrap=True)
