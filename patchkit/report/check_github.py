"""What a check found as GitHub's workflow commands, which annotate files and the run's summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchkit.report import check_view as view
from patchkit.report.words import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchkit.check.findings import Finding, Report
    from patchkit.report.check_view import Group

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}


def as_github(report: Report) -> str:
    """
    Write a line for each finding, errors first: GitHub shows ten of a sort and step.

    What is no file below the working directory, upstream's for one, is named in the message.
    """
    found = [group for some in view.groups(report).values() for group in some]
    found.sort(key=lambda group: list(_COMMANDS).index(group.finding.severity))
    return "\n".join(_command(group, report) for group in found)


def _command(group: Group, report: Report) -> str:
    finding = group.finding
    file = _in_repository(finding)
    line = str(finding.line or "") if file else ""
    properties = {"file": file, "line": line, "title": _title(finding)}
    written = ",".join(
        f"{name}={_escaped(text, _PROPERTY)}" for name, text in properties.items() if text
    )
    said = [finding.message, finding.fix and f"fix: {finding.fix}"]
    said += [view.spans(group.releases, report), "" if file else view.where(finding)]
    message = printable("\n".join(filter(None, said)))
    return f"::{_COMMANDS[finding.severity]} {written}::{_escaped(message, _DATA)}"


def _title(finding: Finding) -> str:
    about = f": {finding.patch}" if finding.patch else ""
    return printable(f"{finding.code.code} {finding.code.title}{about}")


def _in_repository(finding: Finding) -> str:
    """Name its file as seen from the working directory; '' where it is not in there."""
    file, here = Path(finding.file or "").absolute(), Path.cwd()
    if not finding.file or not file.is_file() or not file.is_relative_to(here):
        return ""
    return file.relative_to(here).as_posix()


def _escaped(text: str, characters: Mapping[str, str]) -> str:
    return "".join(characters.get(character, character) for character in text)
