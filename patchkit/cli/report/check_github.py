"""Writes the report of a check for GitHub: annotations of a pull request, and Markdown."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from patchkit.analysis.check.findings import Report
from patchkit.cli.report import check_view as view
from patchkit.cli.report.finding_groups import (
    FindingGroup,
    fix_of,
    location,
    releases_of,
)
from patchkit.cli.report.merged_findings import (
    differences_of,
    merged_groups,
    merged_sections,
)
from patchkit.cli.report.words import count, markdown_table, one_line, printable

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
"""The workflow commands of GitHub, by severity."""
_MESSAGE_ESCAPES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY_ESCAPES = {**_MESSAGE_ESCAPES, **str.maketrans({":": "%3A", ",": "%2C"})}


def as_github(report: Report) -> str:
    """Write a workflow command for each group of findings, the errors first.

    GitHub makes annotations of them, at most ten of each severity in a step.

    Args:
        report: The report.

    Returns:
        The lines; '' where there is no finding.
    """
    commands = [_command(group, report) for group in merged_groups(report)]
    return "\n".join(commands)


def _command(group: FindingGroup, report: Report) -> str:
    """Return a workflow command: `::error file=…,line=…,title=…::message`.

    Only files of the repository can be annotated; another one is named in the message.
    """
    finding = group.finding
    code = finding.code
    title = f"{code.code} {code.title}"
    if finding.patch:
        title += f": {finding.patch}"
    properties = {"title": printable(title)}
    message = [finding.message]
    if finding.fix:
        message.append(f"fix: {finding.fix}")
    releases = releases_of(group, report)
    message.append(releases)
    message += differences_of(group, report)
    file = in_repository(finding.file)
    if file:
        line = str(finding.line or "")
        properties = {"file": file, "line": line, **properties}
    else:
        message.append(location(finding))
    property_texts = []
    for name, text in properties.items():
        if text:
            value = text.translate(_PROPERTY_ESCAPES)
            property_text = f"{name}={value}"
            property_texts.append(property_text)
    escaped_properties = ",".join(property_texts)
    lines = filter(None, message)
    message_text = printable("\n".join(lines))
    escaped_message = message_text.translate(_MESSAGE_ESCAPES)
    command = _COMMANDS[finding.severity]
    return f"::{command} {escaped_properties}::{escaped_message}"


def in_repository(name: str | None) -> str:
    """Return the path of a file in the repository, as GitHub shows it.

    The repository is the checkout of a workflow, or else the working directory.

    Args:
        name: The file of a finding; None or '' for a finding without a file.

    Returns:
        The path from the root of the repository; '' for a file that is not in it.
    """
    if not name:
        return ""
    file = Path(name).absolute()
    workspace = os.environ.get("GITHUB_WORKSPACE")
    checkout = Path(workspace or Path.cwd())
    if not file.is_file() or not file.is_relative_to(checkout):
        return ""
    return file.relative_to(checkout).as_posix()


_LARGEST = 60_000
"""The most characters of a report; GitHub accepts 65,536."""
_RESERVE = 200
"""The characters for the sentence that says how much is left out."""
_MARKS = {
    "ok": "✅ ok",
    "unreviewed": "❔ unreviewed",
    "undecided": "❔ undecided",
    "drift": "⚠️ drift",
    "broken": "❌ **broken**",
    "out-of-range": "–",  # noqa: RUF001 - the sign for nothing
}
_GOOD_STATES = {"ok", "out-of-range", None}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+.!|~$>-])")
"""The characters that have a meaning in Markdown."""


def as_markdown(report: Report) -> str:
    """Write the states and the findings as Markdown, for a comment or the summary of a job.

    Patches that hold everywhere are only counted. Texts of the report are escaped: none of them
    becomes markup or a link, or notifies somebody by an `@`.

    Args:
        report: The report.

    Returns:
        The text, which GitHub accepts: it has at most 60,000 characters.
    """
    tally = view.tally(report)
    scope = view.scope(report)
    parts = [
        f"### patchkit {report.command}: {tally}\n",
        f"{scope}\n",
    ]
    for state_table in view.state_tables(report):
        lines = _state_lines(state_table)
        text = "\n".join(lines)
        # The tables take at most half of the room, to leave some for the findings.
        length = _length(parts) + len(text)
        if length > _LARGEST // 2:
            title = _text(str(state_table))
            text = f"{title}: too large to show\n"
        parts.append(text)
    room = _LARGEST - _length(parts)
    parts += _findings(report, room)
    return "\n".join(parts)


def _length(parts: Sequence[str]) -> int:
    return sum(map(len, parts))


def _state_lines(state_table: view.StateTable) -> Iterator[str]:
    """Yield the lines of a table of states: a row for each patch that does not hold everywhere."""
    title = _text(str(state_table))
    yield f"**{title}**\n"
    marks_by_patch: dict[str, list[str]] = {}
    fine_count = 0
    for patch, states in state_table.rows.items():
        if not _GOOD_STATES.issuperset(states):
            marks = [_mark(state) for state in states]
            marks_by_patch[patch] = marks
        elif any(states):
            # A patch with no state at all has nothing to do with the releases.
            fine_count += 1
    if fine_count == 1:
        yield "1 patch holds, or does not target these releases.\n"
    elif fine_count:
        yield f"{fine_count} patches hold, or do not target these releases.\n"
    if not marks_by_patch:
        return
    runs = [_text(str(run)) for run in state_table.runs]
    rows = []
    for patch, marks in marks_by_patch.items():
        name = _code(patch)
        rows.append([name, *marks])
    yield from markdown_table(["patch", *runs], rows)
    yield ""


def _mark(state: str | None) -> str:
    if not state:
        return ""
    return _MARKS[state]


def _findings(report: Report, room: int) -> Iterator[str]:
    """Yield the sections of findings, as many as there is room for.

    Args:
        report: The report.
        room: The most characters.

    Yields:
        The sections, and then a sentence with the number of findings that are left out.
    """
    room -= _RESERVE
    remaining = len(merged_groups(report))
    for patch, groups_of_patch in merged_sections(report):
        heading = "packs and releases"
        if patch:
            heading = _code(patch)
        items = [_item(group, report) for group in groups_of_patch]
        head = f"#### {heading}\n"
        section = "\n".join([head, *items])
        size = len(section) + 1  # with its line end
        if size > room:
            break
        room -= size
        remaining -= len(groups_of_patch)
        yield section
    if remaining:
        findings = count(remaining, "finding")
        yield f"{findings} more: `patchkit {report.command}` has them all.\n"


def _item(group: FindingGroup, report: Report) -> str:
    """Return a group of findings as an item of a list, with indented paragraphs."""
    finding = group.finding
    code = finding.code
    severity = view.severity_label(finding.severity)
    head = f"- **{code.code} {code.title}** ({severity})"
    if finding.target:
        target = _code(finding.target)
        head += f" {target}"
    message = printable(finding.message).strip("\n")
    # Below the first line of a message are quoted lines, such as the nearest match of an Edit.
    first_line, *quoted_lines = message.split("\n")
    paragraphs = [head, _text(first_line), _block(quoted_lines)]
    fix, commands = fix_of(finding)
    if fix:
        sentence = _text(fix)
        paragraphs.append(f"Fix: {sentence}")
    paragraphs.append(_block(commands))
    releases = releases_of(group, report)
    origin = [_text(releases)]
    if finding.file:
        place = location(finding)
        origin.append(_code(place))
    known_origins = filter(None, origin)
    paragraphs.append(", ".join(known_origins))
    paragraphs += map(_text, differences_of(group, report))
    filled_paragraphs = filter(None, paragraphs)
    text = "\n\n".join(filled_paragraphs)
    indented = text.replace("\n", "\n  ")
    return f"{indented}\n"


def _text(text: str) -> str:
    """Return a text on one line, escaped: without markup, mentions, references and links."""
    flat = one_line(text)
    without_tags = flat.replace("&", "&amp;").replace("<", "&lt;")
    escaped = _SPECIAL.sub(r"\\\1", without_tags)
    # A zero-width space keeps GitHub from linking `@user`, `#1`, `https://…` and `www.…`.
    escaped = re.sub(r"(@(?=\w)|#(?=\d))", r"\1&#8203;", escaped)
    without_links = escaped.replace("://", ":&#8203;//")
    # The dot has a backslash by now.
    return without_links.replace("www\\.", "www&#8203;\\.")


def _code(text: str) -> str:
    """Return a text as inline code, between more backticks than any in the text."""
    flat = one_line(text)
    longest_fence = _longest_fence(flat)
    fence = "`" * (longest_fence + 1)
    pad = ""  # keeps a backtick at an end of the text apart from the fence
    if "`" in flat:
        pad = " "
    return f"{fence}{pad}{flat}{pad}{fence}"


def _block(lines: list[str]) -> str:
    """Return lines as a block of code; '' where there are none."""
    if not lines:
        return ""
    text = "\n".join(lines)
    longest_fence = _longest_fence(text)
    fence = "`" * max(3, longest_fence + 1)
    return f"{fence}text\n{text}\n{fence}"


def _longest_fence(text: str) -> int:
    """Return the largest number of backticks in a row; 0 for none."""
    fences = re.findall("`+", text)
    lengths = map(len, fences)
    return max(lengths, default=0)
