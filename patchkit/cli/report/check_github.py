"""Write the report of a check for GitHub: commands that annotate a pull request, and Markdown."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from patchkit.analysis.check.findings import Report
from patchkit.cli.report import check_view as view
from patchkit.cli.report.words import count, markdown_table, one_line, printable

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}


def as_github(report: Report) -> str:
    """Write a workflow command for each group of findings, errors first.

    GitHub shows ten annotations of each severity and step. A file that is not in the checkout (nor
    in the working directory, where there is no checkout), such as one of upstream, cannot be
    annotated: it is named in the message.

    Args:
        report: The report.

    Returns:
        The lines; '' where there is no finding.
    """
    groups: list[view.FindingGroup] = []
    for groups_of_patch in view.groups_by_patch(report).values():
        groups += groups_of_patch
    severities = list(_COMMANDS)
    groups.sort(key=lambda group: severities.index(group.finding.severity))
    return "\n".join(_command(group, report) for group in groups)


def _command(group: view.FindingGroup, report: Report) -> str:
    finding = group.finding
    title = f"{finding.code.code} {finding.code.title}"
    if finding.patch:
        title += f": {finding.patch}"
    properties = {"title": printable(title)}
    message = [finding.message]
    if finding.fix:
        message.append(f"fix: {finding.fix}")
    message.append(view.release_spans(group.releases, report))
    file = _in_repository(finding.file)
    if file:
        properties = {"file": file, "line": str(finding.line or ""), **properties}
    else:
        message.append(view.location(finding))
    escaped_properties = ",".join(
        f"{name}={text.translate(_PROPERTY)}"
        for name, text in properties.items()
        if text
    )
    escaped_message = printable("\n".join(filter(None, message))).translate(_DATA)
    return f"::{_COMMANDS[finding.severity]} {escaped_properties}::{escaped_message}"


def _in_repository(name: str | None) -> str:
    """Return the path of a file from the checkout on; '' where it is not a file of it."""
    if not name:
        return ""
    file = Path(name).absolute()
    checkout = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    if not file.is_file() or not file.is_relative_to(checkout):
        return ""
    return file.relative_to(checkout).as_posix()


_LARGEST = 60_000
"""Characters of a report; GitHub takes 65,536."""
_RESERVE = 200
"""Characters for the sentence that says how much is left out."""
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
    """Write the states and the findings as Markdown, the errors first in each patch.

    Patches that hold everywhere are counted. The text is never longer than GitHub takes: what is
    left out is counted too. Nobody is notified by an `@` in a message, and nothing in it becomes
    markup or a link.

    Args:
        report: The report.

    Returns:
        The text, of at most 60,000 characters.
    """
    parts = [
        f"### patchkit {report.command}: {view.tally(report)}\n",
        f"{view.scope(report)}\n",
    ]
    for state_table in view.state_tables(report):
        text = "\n".join(_state_lines(state_table))
        if _length(parts) + len(text) > _LARGEST // 2:
            text = f"{_text(str(state_table))}: too large to show\n"
        parts.append(text)
    room = _LARGEST - _length(parts)
    return "\n".join([*parts, *_findings(report, room)])


def _length(parts: Sequence[str]) -> int:
    return sum(map(len, parts))


def _state_lines(state_table: view.StateTable) -> Iterator[str]:
    yield f"**{_text(str(state_table))}**\n"
    marks_by_patch: dict[str, list[str]] = {}
    fine_count = 0
    for patch, states in state_table.rows.items():
        if not _HOLDS.issuperset(states):
            marks_by_patch[patch] = [_mark(state) for state in states]
        elif any(states):
            fine_count += 1
    if fine_count == 1:
        yield "1 patch holds, or does not target these releases.\n"
    elif fine_count:
        yield f"{fine_count} patches hold, or do not target these releases.\n"
    if not marks_by_patch:
        return
    heads = ["patch", *(_text(str(run)) for run in state_table.runs)]
    rows = ([_code(patch), *marks] for patch, marks in marks_by_patch.items())
    yield from markdown_table(heads, rows)
    yield ""


def _mark(state: str | None) -> str:
    if not state:
        return ""
    return _MARKS[state]


def _findings(report: Report, room: int) -> Iterator[str]:
    """Write a section for each patch, as many as there is room for.

    Args:
        report: The report.
        room: Characters that the sections may have, the count of what is left out included.

    Yields:
        The sections, and a sentence that counts the findings that are left out.
    """
    room -= _RESERVE
    groups_by_patch = view.groups_by_patch(report)
    remaining = sum(map(len, groups_by_patch.values()))
    for patch, groups in groups_by_patch.items():
        heading = "packs and releases"
        if patch:
            heading = _code(patch)
        items = (_item(group, report) for group in groups)
        section = "\n".join([f"#### {heading}\n", *items])
        size = len(section) + 1  # with its line end
        if size > room:
            break
        room -= size
        remaining -= len(groups)
        yield section
    if remaining:
        yield f"{count(remaining, 'finding')} more: `patchkit {report.command}` has them all.\n"


def _item(group: view.FindingGroup, report: Report) -> str:
    """Write a group of findings as an item of a list, with its paragraphs indented."""
    finding = group.finding
    head = f"- **{finding.code.code} {finding.code.title}** "
    head += f"({view.severity_label(finding.severity)})"
    if finding.target:
        head += f" {_code(finding.target)}"
    first_line, *details = printable(finding.message).strip("\n").split("\n")
    paragraphs = [head, _text(first_line), _block(details)]
    fix, commands = view.fix_of(finding)
    if fix:
        paragraphs.append(f"Fix: {_text(fix)}")
    paragraphs.append(_block(commands))
    origin = [_text(view.release_spans(group.releases, report))]
    if finding.file:
        origin.append(_code(view.location(finding)))
    paragraphs.append(", ".join(filter(None, origin)))
    return "\n\n".join(filter(None, paragraphs)).replace("\n", "\n  ") + "\n"


def _text(text: str) -> str:
    """Write a text on one line so that it is shown as it is: no mention, reference or link."""
    escaped = _SPECIAL.sub(
        r"\\\1", one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    )
    escaped = re.sub(r"(@(?=\w)|#(?=\d))", r"\1&#8203;", escaped)
    return escaped.replace("://", ":&#8203;//").replace("www\\.", "www&#8203;\\.")


def _code(text: str) -> str:
    """Write a text as code within a line; the fence is longer than any in the text."""
    flat = one_line(text)
    fence = "`" * (_longest_fence(flat) + 1)
    pad = ""
    if "`" in flat:
        pad = " "
    return f"{fence}{pad}{flat}{pad}{fence}"


def _block(lines: list[str]) -> str:
    """Write lines as a block of code; '' where there are none."""
    if not lines:
        return ""
    text = "\n".join(lines)
    fence = "`" * max(3, _longest_fence(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_fence(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
