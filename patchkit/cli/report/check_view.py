"""Makes tables of the states in a report, and sums the report up, for all formats.

Consecutive releases with the same states of all patches are one column, a run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from patchkit.analysis.check.codes import Severity
from patchkit.analysis.check.findings import Report, State
from patchkit.cli.report.merged_findings import merged_groups
from patchkit.cli.report.release_spans import ReleaseRun, project_of, release_spans
from patchkit.cli.report.undecided_names import summary_of_modules
from patchkit.cli.report.words import count
from patchkit.core.record import grouped

_MOST_NAMED = 3
"""The most patches that a summary names for one reason."""

STATE_MEANINGS = {
    "ok": "matches the review, or no problem found",
    "unreviewed": "holds, but was never reviewed",
    "undecided": "cannot be decided from the source",
    "drift": "upstream has changed it since the review",
    "broken": "the patch does not hold",
    "out-of-range": "not for this release",
}
"""The meanings of the states, in the order of legends."""
_FIT_MEANINGS = {"ok": "the package fits", "broken": "the package does not fit"}


class StateTable(NamedTuple):
    """The state of each patch in each run of releases of one project.

    Args:
        project: The name of the project.
        runs: The runs, which are the columns.
        rows: By patch, its state in each run; None where it has nothing to do with the releases.
    """

    project: str
    runs: tuple[ReleaseRun, ...]
    rows: Mapping[str, tuple[State | None, ...]]

    def __str__(self) -> str:
        """Return the title of the table: `vllm 0.9.0 - 0.11.0, 3 releases`."""
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
    """Return a table of states for each project of a report.

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
    """Return the table of one project: its releases, grouped into runs.

    Args:
        project: The name of the project.
        releases: The releases of the project, in order of version.
        report: The report.
    """
    states_by_patch = {
        patch: states
        for patch, states in report.grid.items()
        if not states.keys().isdisjoint(releases)
    }

    def column_of(release: str) -> list[State | None]:
        return [states.get(release) for states in states_by_patch.values()]

    runs: list[ReleaseRun] = []
    columns: list[list[State | None]] = []
    for column, releases_of_run in groupby(releases, column_of):
        runs.append(ReleaseRun(tuple(releases_of_run)))
        columns.append(column)
    rows = {
        patch: tuple(column[row_number] for column in columns)
        for row_number, patch in enumerate(states_by_patch)
    }
    return StateTable(project, tuple(runs), rows)


def tally(report: Report) -> str:
    """Return the number of groups of findings by severity, such as `2 errors, 1 note`.

    Where a group has findings of several releases, which JSON lists one by one, their number
    follows in brackets.

    Args:
        report: The report.
    """
    group_counts = Counter(group.finding.severity for group in merged_groups(report))
    finding_counts = Counter(finding.severity for finding in report.findings)
    parts = []
    for severity in Severity:
        group_count = group_counts[severity]
        if not group_count:
            continue
        label = severity_label(severity)
        part = count(group_count, label)
        finding_count = finding_counts[severity]
        if finding_count > group_count:
            part += f" ({finding_count} counted per release)"
        parts.append(part)
    return ", ".join(parts) or "no findings"


def severity_label(severity: str) -> str:
    """Return the word for a severity in reports: `note` for `info`.

    Args:
        severity: The severity of a finding.
    """
    if severity == "info":
        return "note"
    return str(severity)


def legend(report: Report) -> Mapping[str, str]:
    """Return the meaning of each state that the command of a report has.

    Args:
        report: The report.
    """
    if report.command == "fit":
        return _FIT_MEANINGS
    return STATE_MEANINGS


def scope(report: Report) -> str:
    """Return how many patches and releases were checked, and how many findings are left out.

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
        parts.append(f"{accepted} accepted{_left_broken(report)}")
    if report.deselected:
        deselected = count(report.deselected, "finding")
        parts.append(f"{deselected} not selected")
    return ", ".join(parts)


def _checked(report: Report) -> list[str]:
    """Return the numbers of patches and releases, and the names of patches for none of these."""
    parts = [
        count(report.patches, "patch"),
        count(report.read, "release"),
    ]
    out_of_range = report.out_of_range
    if out_of_range:
        parts.append(f"no release in range for {_first_of(out_of_range)}")
    return parts


def _left_broken(report: Report) -> str:
    """Name the patches that the table shows as broken though none of their errors is reported.

    Args:
        report: The report, some findings of which are accepted.

    Returns:
        The end of a sentence: ` (p is still broken)`; '' if there are no such patches.
    """
    reported = {
        finding.patch
        for finding in report.findings
        if finding.severity is Severity.ERROR
    }
    broken = []
    for finding in report.accepted:
        states = report.grid.get(finding.patch, {}).values()
        is_error = finding.severity is Severity.ERROR
        if is_error and State.BROKEN in states and finding.patch not in reported:
            broken.append(finding.patch)
    if not broken:
        return ""
    names = list(dict.fromkeys(broken))
    verb = "is" if len(names) == 1 else "are"
    return f" ({_first_of(names)} {verb} still broken)"


def _first_of(names: Sequence[str]) -> str:
    """List the first of some names, and how many more there are."""
    listed = ", ".join(names[:_MOST_NAMED])
    unnamed_count = len(names) - _MOST_NAMED
    if unnamed_count > 0:
        listed += f" and {unnamed_count} more"
    return listed


def _compatible(report: Report) -> str:
    """Return how many releases a package fits, and which."""
    compatible = []
    for states in report.grid.values():
        compatible += [name for name, state in states.items() if state is State.OK]
    number = len(compatible)
    verb = "are"
    if 1 in (number, report.read):  # `1 of 5 releases is`, `0 of 1 release is`
        verb = "is"
    releases = count(report.read, "release")
    names = f"{count(report.names, 'name')} checked"
    if report.undecided:
        undecided = sum(report.undecided.values())
        names += f", {undecided} not decidable{summary_of_modules(report.undecided)}"
    text = f"{number} of {releases} {verb} compatible ({names})"
    if compatible:
        text += f": {release_spans(compatible, report)}"
    return text
