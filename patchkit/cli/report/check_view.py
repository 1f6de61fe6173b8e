"""Fold the report of a check for the pages that show it.

Releases that look the same for every patch are one column, and findings that say the same of
several releases are one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from patchkit.analysis.check.findings import Finding, Report, State
from patchkit.cli.report.words import count, printable
from patchkit.core.record import grouped

_SEVERITY_ORDER = {"error": 0, "warning": 1, "info": 2}
_NAMED = 3
"""How many patches that are out of range are named."""

STATE_MEANINGS = {
    "ok": "matches the review, or no problem found",
    "unreviewed": "holds, but was never reviewed",
    "undecided": "cannot be decided from the source",
    "drift": "upstream has changed it since the review",
    "broken": "the patch does not hold",
    "out-of-range": "not for this release",
}
"""What the states mean, in the order of legends."""
_FIT_MEANINGS = {"ok": "the package fits", "broken": "the package does not fit"}


class ReleaseRun(NamedTuple):
    """Consecutive releases in which no patch changes its state.

    Args:
        releases: The releases, such as `vllm 0.9.0`, the oldest first.
    """

    releases: tuple[str, ...]

    @property
    def first(self) -> str:
        """The version of the oldest release."""
        oldest = self.releases[0]
        return oldest.rpartition(" ")[2]

    @property
    def last(self) -> str:
        """The version of the newest release."""
        newest = self.releases[-1]
        return newest.rpartition(" ")[2]

    def __str__(self) -> str:
        if len(self.releases) == 1:
            return self.first
        return f"{self.first} - {self.last}"


class StateTable(NamedTuple):
    """The state of each patch of a project in each run of releases.

    Args:
        project: The name of the project.
        runs: The runs, which are the columns.
        rows: By patch, its state in each run; None where it has nothing to do with the releases.
    """

    project: str
    runs: tuple[ReleaseRun, ...]
    rows: Mapping[str, tuple[State | None, ...]]

    def __str__(self) -> str:
        releases: list[str] = []
        for run in self.runs:
            releases += run.releases
        all_runs = ReleaseRun(tuple(releases))
        heading = f"{self.project} {all_runs}"
        release_count = len(releases)
        if release_count > 1:
            heading += f", {release_count} releases"
        return heading.strip()


class FindingGroup(NamedTuple):
    """Findings that differ in their release alone.

    Args:
        finding: The newest of the findings.
        releases: The releases that they are of; none where the finding holds for all.
    """

    finding: Finding
    releases: tuple[str, ...]


def state_tables(report: Report) -> list[StateTable]:
    """Fold the states of a report into a table for each project.

    Args:
        report: The report; its releases are in order of version.

    Returns:
        The tables, in the order in which the report names the projects.
    """
    by_project = grouped((_project_of(release), release) for release in report.releases)
    return [
        _state_table(project, releases, report)
        for project, releases in by_project.items()
    ]


def _state_table(project: str, releases: Sequence[str], report: Report) -> StateTable:
    rows: dict[str, list[State | None]] = {}
    for patch, states in report.grid.items():
        is_of_project = not states.keys().isdisjoint(releases)
        if is_of_project:
            row_of_releases = [states.get(release) for release in releases]
            rows[patch] = row_of_releases

    def states_at(position: int) -> list[State | None]:
        return [row[position] for row in rows.values()]

    runs = []
    columns = []
    release_count = len(releases)
    all_positions = range(release_count)
    for column, positions in groupby(all_positions, states_at):
        releases_of_run = tuple(releases[position] for position in positions)
        runs.append(ReleaseRun(releases_of_run))
        columns.append(column)
    folded = {}
    for row_number, patch in enumerate(rows):
        row_of_runs = tuple(column[row_number] for column in columns)
        folded[patch] = row_of_runs
    return StateTable(project, tuple(runs), folded)


def groups_by_patch(report: Report) -> dict[str, list[FindingGroup]]:
    """Fold the findings of a report that differ in their release alone.

    Args:
        report: The report.

    Returns:
        The groups of each patch, the worst first. Patches are in the order of the grid; '', which
        stands for packs and releases, comes first.
    """
    positions = _positions(report)

    def position(finding: Finding) -> int:
        return positions.get(finding.release, -1)

    findings = sorted(report.findings, key=position)
    identical = grouped((_content(finding), finding) for finding in findings)
    groups_in_any_order = map(_group, identical.values())
    groups = grouped((group.finding.patch, group) for group in groups_in_any_order)
    for groups_of_patch in groups.values():
        groups_of_patch.sort(key=_severity_number)
    rows = ["", *report.grid]
    order = {patch: number for number, patch in enumerate(rows)}
    end = len(order)
    patches = sorted(groups, key=lambda patch: order.get(patch, end))
    return {patch: groups[patch] for patch in patches}


def _positions(report: Report) -> dict[str, int]:
    numbered = enumerate(report.releases)
    return {release: number for number, release in numbered}


def _content(finding: Finding) -> tuple[object, ...]:
    """Return what the findings of a group have in common."""
    return finding.patch, finding.code, finding.target, finding.message, finding.fix


def _group(alike: Sequence[Finding]) -> FindingGroup:
    releases: dict[str, None] = {}
    for finding in alike:
        if finding.release:
            releases[finding.release] = None
    newest = alike[-1]
    return FindingGroup(newest, tuple(releases))


def _severity_number(group: FindingGroup) -> int:
    severity = group.finding.severity
    return _SEVERITY_ORDER[severity]


def release_spans(releases: Iterable[str], report: Report) -> str:
    """Name releases by the spans in which they follow each other.

    Args:
        releases: The releases, in any order.
        report: The report, in which they follow each other or do not.

    Returns:
        A text such as `vllm 0.9.0 - 0.11.0, 0.13.0; ray 2.1.0`.
    """
    positions = _positions(report)

    end = len(positions)

    def order(release: str) -> tuple[int, str]:
        position = positions.get(release, end)
        return position, release

    parts = []
    ordered_releases = sorted(set(releases), key=order)
    for project, group in groupby(ordered_releases, _project_of):
        runs = _consecutive(group, positions)
        run_texts = map(str, runs)
        spans = ", ".join(run_texts)
        part = f"{project} {spans}"
        parts.append(part.strip())
    return "; ".join(parts)


def _consecutive(
    releases: Iterable[str], positions: Mapping[str, int]
) -> list[ReleaseRun]:
    """Gather releases that follow each other in the report, whose positions are given."""
    runs: list[list[str]] = []
    next_position = None
    for release in releases:
        position = positions.get(release, -1)
        if position != next_position:
            runs.append([])
        runs[-1].append(release)
        next_position = position + 1
    return [ReleaseRun(tuple(run)) for run in runs]


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


def tally(report: Report) -> str:
    """Return the number of groups of findings by severity, such as `2 errors, 1 note`.

    JSON has a finding for each release. Its count is added in brackets where it is larger.

    Args:
        report: The report.
    """
    shown = Counter[str]()
    for groups in groups_by_patch(report).values():
        severities = [group.finding.severity for group in groups]
        shown.update(severities)
    counted = Counter[str]()
    for finding in report.findings:
        counted[finding.severity] += 1
    parts = []
    for severity in _SEVERITY_ORDER:
        group_count = shown[severity]
        if not group_count:
            continue
        label = severity_label(severity)
        part = count(group_count, label)
        finding_count = counted[severity]
        if finding_count > group_count:
            part += f" ({finding_count} counted per release)"
        parts.append(part)
    return ", ".join(parts) or "no findings"


def severity_label(severity: str) -> str:
    """Return the word for a severity that pages show: `info` is a note.

    Args:
        severity: The severity of a finding.
    """
    if severity == "info":
        return "note"
    return str(severity)


def legend(report: Report) -> Mapping[str, str]:
    """Return what each state means.

    Args:
        report: The report, whose command decides which states there are.
    """
    if report.command == "fit":
        return _FIT_MEANINGS
    return STATE_MEANINGS


def scope(report: Report) -> str:
    """Return what was checked, in numbers, or the summary that the command has written itself.

    Args:
        report: The report.
    """
    if report.summary:
        return report.summary
    parts = [
        count(report.patches, "patch"),
        count(report.read, "release"),
    ]
    out_of_range = report.out_of_range
    if out_of_range:
        named = out_of_range[:_NAMED]
        names = ", ".join(named)
        unnamed_count = len(out_of_range) - len(named)
        if unnamed_count:
            names += f" and {unnamed_count} more"
        parts.append(f"out of range of all: {names}")
    unreadable_count = len(report.unreadable)
    if unreadable_count:
        parts.append(f"{unreadable_count} more cannot be read")
    accepted_count = len(report.accepted)
    if accepted_count:
        accepted = count(accepted_count, "finding")
        parts.append(f"{accepted} accepted")
    return ", ".join(parts)


def _project_of(release: str) -> str:
    project, space, _ = release.partition(" ")
    if not space:
        return ""
    return project
