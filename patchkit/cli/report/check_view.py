"""Fold the states of a report into tables, and sum the report up, for the pages that show it.

Releases that look the same for every patch are one column.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from patchkit.analysis.check.codes import Severity
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report.finding_groups import groups
from patchkit.cli.report.release_spans import ReleaseRun, project_of, release_spans
from patchkit.cli.report.words import count
from patchkit.core.record import grouped

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


def state_tables(report: Report) -> list[StateTable]:
    """Fold the states of a report into a table for each project.

    Args:
        report: The report; its releases are in order of version.

    Returns:
        The tables, in the order in which the report names the projects.
    """
    by_project = grouped((project_of(release), release) for release in report.releases)
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


def tally(report: Report) -> str:
    """Return the number of groups of findings by severity, such as `2 errors, 1 note`.

    JSON has a finding for each release. Its count is added in brackets where it is larger.

    Args:
        report: The report.
    """
    shown = Counter(group.finding.severity for group in groups(report))
    counted = Counter(finding.severity for finding in report.findings)
    parts = []
    for severity in Severity:
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
    """Return what was checked, in numbers, and what is left out.

    Args:
        report: The report.
    """
    parts = _checked(report)
    if report.command == "fit":
        parts = [_compatible(report)]
    unreadable_count = len(report.unreadable)
    if unreadable_count:
        parts.append(f"{unreadable_count} more cannot be read")
    accepted_count = len(report.accepted)
    if accepted_count:
        accepted = count(accepted_count, "finding")
        parts.append(f"{accepted} accepted")
    if report.deselected:
        deselected = count(report.deselected, "finding")
        parts.append(f"{deselected} not selected")
    return ", ".join(parts)


def _checked(report: Report) -> list[str]:
    """Count the patches and the releases, and name patches that are for none of these."""
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
        parts.append(f"no release in range for {names}")
    return parts


def _compatible(report: Report) -> str:
    """Say how many releases a package fits, and name them."""
    compatible = []
    for states in report.grid.values():
        compatible += [name for name, state in states.items() if state is State.OK]
    number = len(compatible)
    verb = "are"
    if 1 in (number, report.read):
        verb = "is"
    releases = count(report.read, "release")
    names = count(report.names, "name")
    text = f"{number} of {releases} {verb} compatible ({names} checked)"
    if compatible:
        text += f": {release_spans(compatible, report)}"
    return text
