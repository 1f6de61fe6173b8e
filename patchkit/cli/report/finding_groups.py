"""Groups findings that are the same in several releases, for all formats of reports."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from patchkit.analysis.check.findings import Finding, Report
from patchkit.cli.report.release_spans import counted_spans
from patchkit.cli.report.words import printable
from patchkit.core.record import grouped

_VARYING = re.compile(
    r"\b(?:lines?|column) \d+(?:, \d+)*|(?<=\.py):\d+"
    r"|, \d+% alike|did you mean [^?]*\?|; nearest match:$"
)
"""The parts of messages that may differ between releases with the same problem.

Such are `lines 3, 17`, the `:12` of `file.py:12`, `, 87% alike`, and questions for similar names.
"""


class FindingGroup(NamedTuple):
    """Findings that are the same in several releases.

    Args:
        finding: The newest of the findings.
        releases: The releases of the findings; none if the finding is about no single release.
        varies: Whether the messages differ, in line numbers or quoted lines.
        variants: Groups that were merged into it: what is wrong in older releases, in other words.
    """

    finding: Finding
    releases: tuple[str, ...]
    varies: bool = False
    variants: tuple["FindingGroup", ...] = ()


def groups(report: Report) -> list[FindingGroup]:
    """Return the findings of a report in groups: errors first, then warnings, then notes.

    Args:
        report: The report.
    """
    keyed = _keyed(report.in_order)
    alike = grouped(keyed)
    return [_group(findings) for findings in alike.values()]


@lru_cache(maxsize=4096)  # the same messages come for release after release
def gist(text: str) -> str:
    """Return the part of a text that is the same for all releases.

    That is its first line, without line numbers, quoted lines and suggestions of similar names.

    Args:
        text: A message or a fix.
    """
    first_line, _, _ = text.partition("\n")
    return _VARYING.sub("", first_line)


def _keyed(findings: Iterable[Finding]) -> Iterator[tuple[object, Finding]]:
    """Yield each finding with a key, which is equal for findings of one group.

    Different messages about one release have different keys, even if they have the same gist: two
    Edits of a function may both miss a line.
    """
    messages: dict[object, list[str]] = {}
    for finding in findings:
        message = gist(finding.message)
        fix = gist(finding.fix)
        problem = (finding.patch, finding.code.code, finding.target, message, fix)
        problem_in_release = (problem, finding.release)
        messages_of_release = messages.setdefault(problem_in_release, [])
        if finding.message not in messages_of_release:
            messages_of_release.append(finding.message)
        # 0 for the first message of a release, 1 for another one with the same gist.
        number = messages_of_release.index(finding.message)
        yield (problem, number), finding


def _group(alike: Sequence[Finding]) -> FindingGroup:
    """Make a group of findings with the same key, the oldest release first."""
    releases: dict[str, None] = {}
    for finding in alike:
        if finding.release:
            releases[finding.release] = None
    messages = {finding.message for finding in alike}
    newest = alike[-1]
    varies = len(messages) > 1
    return FindingGroup(newest, tuple(releases), varies=varies)


def releases_of(group: FindingGroup, report: Report) -> str:
    """Return the releases of a group, and the one whose message is shown if messages vary.

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
    """Return `file:line` of a finding; `file` without a line, '' without a file.

    Args:
        finding: The finding.
    """
    if not finding.file:
        return ""
    if finding.line is None:
        return finding.file
    return f"{finding.file}:{finding.line}"


def fix_of(finding: Finding) -> tuple[str, list[str]]:
    """Split the fix of a finding into its sentence and its commands.

    Args:
        finding: The finding; the commands are the indented lines of its fix.

    Returns:
        The sentence and the commands, without control characters.
    """
    fix = printable(finding.fix)
    sentence, *commands = fix.split("\n  ")
    return sentence, commands
