"""Fold findings that say the same of several releases, for the pages that show them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from patchkit.analysis.check.findings import Finding, Report
from patchkit.cli.report.release_spans import counted_spans
from patchkit.cli.report.words import printable
from patchkit.core.record import grouped

_VARYING = re.compile(
    r"\b(?:lines?|column) \d+(?:, \d+)*|(?<=\.py):\d+"
    r"|, \d+% alike|did you mean [^?]*\?|; nearest match:$"
)
"""What a message says differently of releases that have the same problem."""


class FindingGroup(NamedTuple):
    """Findings that say the same of several releases.

    Args:
        finding: The newest of the findings.
        releases: The releases that they are of; none if the finding holds for all.
        varies: Whether line numbers or quoted lines differ between the releases.
    """

    finding: Finding
    releases: tuple[str, ...]
    varies: bool = False


def groups(report: Report) -> list[FindingGroup]:
    """Fold findings that say the same of several releases.

    Args:
        report: The report.

    Returns:
        The groups, in the order of the report's findings: errors, then warnings, then notes.
    """
    alike = grouped(_keyed(report.in_order))
    return [_group(findings) for findings in alike.values()]


def sections(report: Report) -> list[tuple[str, list[FindingGroup]]]:
    """Divide the groups of a report, in their order, into sections of one patch.

    A patch has several sections if findings of other patches are graver than some of its own.

    Args:
        report: The report.

    Returns:
        The patch and the groups of each section; the patch is '' for packs and releases.
    """
    by_patch = groupby(groups(report), lambda group: group.finding.patch)
    return [(patch, list(section)) for patch, section in by_patch]


def gist(text: str) -> str:
    """Return what a text says of every release: without line numbers, quotes and guesses.

    Args:
        text: A message or a fix.
    """
    first_line, _, _ = text.partition("\n")
    return _VARYING.sub("", first_line)


def _keyed(findings: Iterable[Finding]) -> Iterator[tuple[object, Finding]]:
    """Yield findings, each with what it has in common with those of other releases.

    Different messages about one release stay apart, though their gist is the same: two Edits of a
    function may both miss a line that reads alike.
    """
    messages: dict[object, list[str]] = {}
    for finding in findings:
        message = gist(finding.message)
        fix = gist(finding.fix)
        content = (finding.patch, finding.code, finding.target, message, fix)
        messages_of_release = messages.setdefault((content, finding.release), [])
        if finding.message not in messages_of_release:
            messages_of_release.append(finding.message)
        number = messages_of_release.index(finding.message)
        yield (content, number), finding


def _group(alike: Sequence[Finding]) -> FindingGroup:
    releases: dict[str, None] = {}
    for finding in alike:
        if finding.release:
            releases[finding.release] = None
    messages = {finding.message for finding in alike}
    newest = alike[-1]
    return FindingGroup(newest, tuple(releases), varies=len(messages) > 1)


def releases_of(group: FindingGroup, report: Report) -> str:
    """Name the releases of a group, and the one whose message is shown if messages vary.

    Args:
        group: The group.
        report: The report that it is in.

    Returns:
        A text such as `vllm 0.9.0 to 0.11.0, 3 releases (as in 0.11.0)`; '' for all releases.
    """
    text = counted_spans(group.releases, report)
    if group.varies:
        _, _, version = group.finding.release.rpartition(" ")
        text += f" (as in {version})"
    return text


def location(finding: Finding) -> str:
    """Return `file:line` of a finding, as much of it as is known.

    Args:
        finding: The finding; '' is returned where it has no file.
    """
    if not finding.file:
        return ""
    if finding.line is None:
        return finding.file
    return f"{finding.file}:{finding.line}"


def fix_of(finding: Finding) -> tuple[str, list[str]]:
    """Return what a finding says to do, and the commands that do it.

    Args:
        finding: The finding; commands are the indented lines of its fix.

    Returns:
        The sentence and the commands, without control characters.
    """
    fix = printable(finding.fix)
    sentence, *commands = fix.split("\n  ")
    return sentence, commands


def severity_label(severity: str) -> str:
    """Return the word for a severity that pages show: `info` is a note.

    Args:
        severity: The severity of a finding.
    """
    if severity == "info":
        return "note"
    return str(severity)
