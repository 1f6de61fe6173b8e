"""Writes the report of a check as SARIF 2.1.0, for alerts of GitHub's code scanning."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from patchkit import __version__
from patchkit.analysis.check.codes import Code
from patchkit.analysis.check.findings import Finding, Report
from patchkit.cli.report.as_json import to_json
from patchkit.cli.report.check_github import in_repository
from patchkit.cli.report.finding_groups import (
    FindingGroup,
    gist,
    location,
    releases_of,
)
from patchkit.cli.report.merged_findings import (
    differences_of,
    merged_groups,
)
from patchkit.cli.report.words import one_line, printable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_PROBLEM_SEVERITIES = {
    "error": "error",
    "warning": "warning",
    "info": "recommendation",
}
"""GitHub's names of severities."""
_ROOT = "%SRCROOT%"
_SETTINGS = "pyproject.toml"
"""The file of results that are in no file of the project: GitHub accepts none without one."""
_FINGERPRINT_LENGTH = 32

_Data = dict[str, Any]


def as_sarif(report: Report, explanations: Mapping[str, str]) -> str:
    """Return the findings as SARIF: a rule for each code, a result for each group of findings.

    Args:
        report: The report.
        explanations: The explanations of codes, as Markdown.
    """
    finding_groups = merged_groups(report)
    codes = dict.fromkeys(group.finding.code for group in finding_groups)
    rules = sorted(codes)
    driver = {
        "name": "patchkit",
        "version": __version__,
        "rules": [_rule(code, explanations[code.code]) for code in rules],
    }
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"patchkit {report.command}/"},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(finding_groups, rules, report)),
    }
    return to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(code: Code, explanation: str) -> _Data:
    """Return a code as a rule.

    Args:
        code: The code.
        explanation: Its explanation; the second paragraph, after a bold title, describes it.
    """
    words = code.title.replace("-", " ").split()
    paragraphs = explanation.split("\n\n")
    _, _, description = paragraphs[1].partition(".** ")
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in words),
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": _plain(description)},
        "help": {"text": _plain(explanation), "markdown": explanation},
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
        "properties": {"problem.severity": _PROBLEM_SEVERITIES[code.severity]},
    }


def _plain(markdown: str) -> str:
    """Return a Markdown text without the marks of bold text and code."""
    return markdown.replace("**", "").replace("`", "")


def _results(
    finding_groups: Sequence[FindingGroup], rules: Sequence[Code], report: Report
) -> Iterator[_Data]:
    """Yield a result for each group of findings.

    Args:
        finding_groups: The groups.
        rules: The codes, in the order of the rules.
        report: The report.
    """
    numbers: Counter[str] = Counter()  # of results with the same fingerprint so far
    for group in finding_groups:
        finding = group.finding
        identity = _fingerprint(finding)
        numbers[identity] += 1
        fingerprint = f"{identity}:{numbers[identity]}"
        yield {
            "ruleId": finding.code.code,
            "ruleIndex": rules.index(finding.code),
            "level": _LEVELS[finding.severity],
            "message": {"text": _message(group, report)},
            "locations": [_location(finding)],
            # By the second one GitHub recognizes an alert of an earlier run; if it is missing,
            # GitHub makes one of the text of the line, which changes more often.
            "partialFingerprints": {
                "patchkit/v1": fingerprint,
                "primaryLocationLineHash": fingerprint,
            },
        }


def _fingerprint(finding: Finding) -> str:
    """Return a hash by which a finding is recognized after its line or the release has changed."""
    parts = [
        finding.code.code,
        finding.patch,
        finding.target,
        gist(finding.message),
    ]
    text = "\0".join(parts)
    digest = hashlib.sha256(text.encode(errors="backslashreplace"))
    return digest.hexdigest()[:_FINGERPRINT_LENGTH]


def _message(group: FindingGroup, report: Report) -> str:
    """Return the message of a result: what was found, the fix, and the releases, a line each."""
    finding = group.finding
    subjects = filter(None, [finding.patch, finding.target])
    subject = one_line(", ".join(subjects))
    message = printable(finding.message)
    if subject:
        message = f"{subject}: {message}"
    lines = [message]
    if finding.fix:
        lines.append(f"Fix: {finding.fix}")
    releases = releases_of(group, report)
    if releases:
        lines.append(f"Releases: {releases}")
    lines += differences_of(group, report)
    if not in_repository(finding.file):  # GitHub shows no such file, so name it here
        place = location(finding)
        lines.append(place)
    filled_lines = filter(None, lines)  # a finding without a file has no location
    return printable("\n".join(filled_lines))


def _location(finding: Finding) -> _Data:
    """Return the location of a finding: its file, or the project's settings for another file."""
    file = in_repository(finding.file)
    line = finding.line
    if not file:
        file = _SETTINGS
        line = None
    uri = quote(os.fsencode(file))  # a name of a file may be no UTF-8
    physical_location: _Data = {
        "artifactLocation": {"uri": uri, "uriBaseId": _ROOT},
        "region": {"startLine": line or 1},  # an alert needs some line
    }
    place: _Data = {"physicalLocation": physical_location}
    if finding.target:
        name = one_line(finding.target)
        place["logicalLocations"] = [{"fullyQualifiedName": name}]
    return place
