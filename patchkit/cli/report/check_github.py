"""What a check found, for GitHub: commands that annotate a pull request, and Markdown."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from patchkit.analysis.check.findings import Report
from patchkit.cli.report import check_view as view
from patchkit.cli.report.words import count, markdown_table, one_line, printable

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


def as_github(report: Report) -> str:
    """Write a line for each finding, errors first: GitHub shows ten of a sort and step.

    What is no file of the checkout (else of the working directory), upstream's for one, is named
    in the message.
    """
    found = [group for some in view.groups(report).values() for group in some]
    found.sort(key=lambda group: list(_COMMANDS).index(group.finding.severity))
    return "\n".join(_command(group, report) for group in found)


def _command(group: view.Group, report: Report) -> str:
    finding = group.finding
    file = _in_repository(finding.file)
    line = str(finding.line or "") if file else ""
    about = f": {finding.patch}" if finding.patch else ""
    title = printable(f"{finding.code.code} {finding.code.title}{about}")
    properties = {"file": file, "line": line, "title": title}
    written = ",".join(
        f"{name}={text.translate(_PROPERTY)}" for name, text in properties.items() if text
    )
    said = [finding.message, finding.fix and f"fix: {finding.fix}"]
    said += [view.spans(group.releases, report), "" if file else view.where(finding)]
    message = printable("\n".join(filter(None, said)))
    return f"::{_COMMANDS[finding.severity]} {written}::{message.translate(_DATA)}"


def _in_repository(name: str | None) -> str:
    file, here = Path(name or "").absolute(), Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    if not name or not file.is_file() or not file.is_relative_to(here):
        return ""
    return file.relative_to(here).as_posix()


_LARGEST = 60_000
"""GitHub takes 65,536 characters."""
_MARKS = {
    "ok": "✅ ok",
    "unreviewed": "❔ unreviewed",
    "undecided": "❔ undecided",
    "drift": "⚠️ drift",
    "broken": "❌ **broken**",
    "out-of-range": "–",  # noqa: RUF001 - the sign for nothing
}
_HOLDS = {"ok", "out-of-range", None}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+.!|~$>-])")


def as_markdown(report: Report) -> str:
    """Write the grids and the findings, the errors first in each patch.

    Patches that hold everywhere are counted. It is never longer than GitHub takes: what is left out
    is counted too. Nobody is notified by an `@` in a message, and nothing in it becomes markup or a
    link.
    """
    parts = [
        f"### patchkit {report.command}: {view.tally(report)}\n",
        f"{view.looked_at(report)}\n",
    ]
    for grid in view.grids(report):
        table = "\n".join(_table(grid))
        too_large = sum(map(len, parts)) + len(table) > _LARGEST // 2
        parts.append(f"{_text(str(grid))}: too large to show\n" if too_large else table)
    return "\n".join([*parts, *_findings(report, _LARGEST - sum(map(len, parts)))])


def _table(grid: view.StateTable) -> Iterator[str]:
    yield f"**{_text(str(grid))}**\n"
    shown = {name: row for name, row in grid.rows.items() if not _HOLDS.issuperset(row)}
    if fine := sum(any(row) for name, row in grid.rows.items() if name not in shown):
        yield f"Fine, or for other releases: {count(fine, 'patch')}.\n"
    if not shown:
        return
    marks = {name: [_MARKS[one] if one else "" for one in row] for name, row in shown.items()}
    heads = ["patch", *(_text(str(run)) for run in grid.runs)]
    yield from markdown_table(heads, ([_code(name), *row] for name, row in marks.items()))
    yield ""


def _findings(report: Report, room: int) -> Iterator[str]:
    """Write as many sections as there is room for; short of what says how many are left out."""
    room -= 200
    found = view.groups(report)
    left = sum(map(len, found.values()))
    for patch, some in found.items():
        heading = f"#### {_code(patch) if patch else 'packs and releases'}\n"
        section = "\n".join([heading, *(_item(group, report) for group in some)])
        if len(section) + 1 > room:
            break
        room -= len(section) + 1
        left -= len(some)
        yield section
    if left:
        yield f"{count(left, 'finding')} more: `patchkit {report.command}` has them all.\n"


def _item(group: view.Group, report: Report) -> str:
    finding = group.finding
    target = f" {_code(finding.target)}" if finding.target else ""
    first, *rest = printable(finding.message).strip("\n").split("\n")
    fix, commands = view.fix_of(finding)
    where = _code(view.where(finding)) if finding.file else ""
    lines = [
        f"- **{finding.code.code} {finding.code.title}** ({view.label(finding.severity)}){target}",
        _text(first),
        _block(rest),
        f"Fix: {_text(fix)}" if fix else "",
        _block(commands),
        ", ".join(filter(None, [_text(view.spans(group.releases, report)), where])),
    ]
    return "\n\n".join(filter(None, lines)).replace("\n", "\n  ") + "\n"


def _text(text: str) -> str:
    """Write a text on one line so that it is shown as it is: no mention, reference or link."""
    escaped = _SPECIAL.sub(r"\\\1", one_line(text).replace("&", "&amp;").replace("<", "&lt;"))
    escaped = re.sub(r"(@(?=\w)|#(?=\d))", r"\1&#8203;", escaped)
    return escaped.replace("://", ":&#8203;//").replace("www\\.", "www&#8203;\\.")


def _code(text: str) -> str:
    flat = one_line(text)
    fence = "`" * (_longest_fence(flat) + 1)
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _block(lines: list[str]) -> str:
    text = "\n".join(lines)
    fence = "`" * max(3, _longest_fence(text) + 1)
    return f"{fence}text\n{text}\n{fence}" if lines else ""


def _longest_fence(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
