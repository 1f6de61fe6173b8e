"""Writes the report of a check with a line for each finding, for grep and editors."""

from patchkit.analysis.check.findings import Finding, Report
from patchkit.cli.report.check_view import severity_label
from patchkit.cli.report.finding_groups import (
    FindingGroup,
    location,
    releases_of,
)
from patchkit.cli.report.merged_findings import (
    differences_of,
    merged_groups,
)
from patchkit.cli.report.words import one_line

_NO_FILE = "patchkit"
"""The beginning of the line of a finding without a file, such as one about a release."""


def as_concise(report: Report) -> str:
    """Write `file:line: code severity patch target message [releases]` for each finding.

    Args:
        report: The report.

    Returns:
        The lines, the errors first; '' if there is no finding.
    """
    lines = [_line(group, report) for group in merged_groups(report)]
    return "\n".join(lines)


def _line(group: FindingGroup, report: Report) -> str:
    """Return the line of a group of findings, without line breaks and control characters."""
    finding = group.finding
    place = location(finding) or _NO_FILE
    words = [f"{place}:", *_subject(finding), finding.message]
    releases = releases_of(group, report)
    if releases:
        spans = "; ".join([releases, *differences_of(group, report)])
        words.append(f"[{spans}]")
    return " ".join(one_line(word) for word in words)


def _subject(finding: Finding) -> list[str]:
    """Return the code and the severity of a finding, and its patch and target if it has them."""
    severity = severity_label(finding.severity)
    words = [finding.code.code, severity, finding.patch, finding.target]
    return [word for word in words if word]
