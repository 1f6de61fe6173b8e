"""Prints the results of `patchkit doctor`, `bootstrap status`, `explain` and `bisect`."""

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

_STATE_STYLES = {"installed": "ok", "absent": "note", "foreign": "bad"}
_FIXES = {
    "incomplete": "a file is missing: 'patchkit bootstrap install' writes it again",
    "outdated": "of another patchkit: 'patchkit bootstrap install' brings it up to date",
    "foreign": "a file is not patchkit's: move it away",
}
_WIDEST = 100
"""The most columns for prose: longer lines are hard to read."""
_MOST_NAMED = 3
"""The most patches of a run that are named; more are counted."""
_VERDICT_STYLES = {"good": "ok", "skipped": "warn", "bad": "bad"}


def print_doctor(lines: Iterable[HealthLine]) -> None:
    """Print the lines of `doctor`, topic by topic, each with its mark.

    Args:
        lines: The lines; those of one topic follow each other.
    """
    page: list[Line] = []
    for topic, group in groupby(lines, lambda line: line.topic):
        heading = Text(topic, "heading")
        page.append(([heading], ""))
        for line in group:
            label = line.mark
            if line.mark == "note":
                label = ""
            label_cell = Text(f"  {label:4}", style=line.mark)
            subject_cell = Text(line.subject)
            page.append(([label_cell, subject_cell], line.message))
    print_lines(console(), page)


def print_bootstrap(
    folder: Path, bootstrap: Bootstrap, switch: str | None, location: str | None
) -> None:
    """Print whether the bootstrap is installed, and what it does.

    Args:
        folder: The folder of its files.
        bootstrap: Its state, and the state of each file.
        switch: The value of PATCHKIT; None where it is not set.
        location: The folder in which the bootstrap finds patchkit; None where it does not.
    """
    heading = Text("bootstrap", "heading")
    installed = _state(bootstrap.state)
    lines: list[Line] = [([heading, installed], str(folder))]
    if bootstrap.state in _FIXES:
        # With empty cells, so that it stands below the folder.
        lines.append(([Text(), Text()], _FIXES[bootstrap.state]))
    effect = ""
    if bootstrap.state != "absent":
        effect = _effect(switch)
    setting = Text(switch or "not set")
    lines.append(([Text("PATCHKIT"), setting], effect))
    importable = Text("not found", "bad")
    if location:
        importable = Text("found", "ok")
    lines.append(([Text("patchkit"), importable], location or ""))
    for file, state in bootstrap.files.items():
        lines.append(([Text("file"), _state(state)], file.name))
    print_lines(console(), lines)


def _effect(switch: str | None) -> str:
    """Return what an installed bootstrap does with a value of PATCHKIT, in words."""
    is_on = switch is not None and switch.strip() == "1"
    if is_on:
        return "processes of this environment are armed"
    return "it waits for PATCHKIT=1"


def _state(state: str) -> Text:
    style = _STATE_STYLES.get(state, "warn")
    return Text(state, style=style)


def print_codes(codes: Iterable[Code]) -> None:
    """Print a line for each code.

    Args:
        codes: The codes, in the order of the lines.
    """
    table = columns()
    for code in codes:
        label = severity_label(code.severity)
        severity = Text(label, SEVERITY_STYLES[code.severity])
        table.add_row(Text(code.code, "name"), severity, Text(code.title))
    console().print(table)


def print_explain(code: Code, text: str) -> None:
    """Print what a code means.

    Args:
        code: The code.
        text: Its explanation, as Markdown.
    """
    out = console()
    heading = Text(f"{code.code} {code.title}\n", style="heading")
    out.print(heading)
    from rich.markdown import Markdown  # noqa: PLC0415 - it costs more than all else here

    explanation = Markdown(text, code_theme="ansi_dark")
    width = min(out.width, _WIDEST)
    out.print(explanation, width=width)


def print_bisection(
    culprits: Sequence[str],
    companions: Sequence[str],
    judged_runs: Iterable[tuple[Mapping[str, Any], str]],
    folder: str,
) -> None:
    """Print the runs of a bisection in order, each with its verdict, and then the culprits.

    Args:
        culprits: The patches that together make the command fail.
        companions: The patches that were applied with them, as the culprits need them.
        judged_runs: The runs, each with its verdict: `good`, `skipped` or `bad`.
        folder: The folder with the outputs and journals of the runs.
    """
    table = columns(
        whole("run"), whole("exit"), whole(""), whole("seconds"), Column("patches")
    )
    for number, (run, verdict) in enumerate(judged_runs, 1):
        table.add_row(
            str(number),
            str(run["exit"]),
            Text(verdict, _VERDICT_STYLES[verdict]),
            f"{run['seconds']:.1f}",
            Text(_patches(run["patches"])),
        )
    line = Text("\nculprit: ")
    if len(culprits) > 1:
        line = Text("\nculprits, together: ")
    line.append(", ".join(culprits), "bad")
    if companions:
        names = ", ".join(companions)
        line.append(f"; tried with {names}, which come before", "note")
    out = console()
    out.print(table)
    out.print(line, soft_wrap=True)
    out.print(Text(f"outputs and journals: {folder}", "note"), soft_wrap=True)


def _patches(names: Sequence[str]) -> str:
    """Return the names of the patches of a run, or their number if there are many."""
    if len(names) > _MOST_NAMED:
        return count(len(names), "patch")
    return ", ".join(names) or "none"
