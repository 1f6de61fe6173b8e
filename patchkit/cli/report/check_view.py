"""A check's report as pages show it.

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

_ORDER = {"error": 0, "warning": 1, "info": 2}
_NAMED = 3

WORDS = {
    "ok": "matches the review, or no problem found",
    "unreviewed": "holds, but was never reviewed",
    "undecided": "cannot be decided from the source",
    "drift": "upstream has changed it since the review",
    "broken": "the patch does not hold",
    "out-of-range": "not for this release",
}
"""What the states mean, in the order of legends."""
_OF_FIT = {"ok": "the package fits", "broken": "the package does not fit"}


class Run(NamedTuple):
    """Releases in a row, the oldest first, in which each patch is in one state."""

    releases: tuple[str, ...]

    @property
    def first(self) -> str:
        """The oldest one's version."""
        return self.releases[0].rpartition(" ")[2]

    @property
    def last(self) -> str:
        """The newest one's version."""
        return self.releases[-1].rpartition(" ")[2]

    def __str__(self) -> str:
        return self.first if len(self.releases) == 1 else f"{self.first} - {self.last}"


class StateTable(NamedTuple):
    """The state of each patch in each run of releases; None where they have nothing in common."""

    project: str
    runs: tuple[Run, ...]
    rows: Mapping[str, tuple[State | None, ...]]

    def __str__(self) -> str:
        whole = Run(tuple(release for run in self.runs for release in run.releases))
        more = f", {len(whole.releases)} releases" if len(whole.releases) > 1 else ""
        return f"{self.project} {whole}{more}".strip()


class Group(NamedTuple):
    """The newest of findings that say the same, and their releases; none where it is all."""

    finding: Finding
    releases: tuple[str, ...]


def grids(report: Report) -> list[StateTable]:
    """Fold a report's grid, project by project."""
    by_project = grouped((_project_of(release), release) for release in report.releases)
    return [_grid(project, names, report) for project, names in by_project.items()]


def _grid(project: str, releases: Sequence[str], report: Report) -> StateTable:
    rows = {
        patch: tuple(row.get(release) for release in releases)
        for patch, row in report.grid.items()
        if not row.keys().isdisjoint(releases)
    }
    columns = zip(*rows.values()) if rows else [()] * len(releases)  # noqa: B905 - of one length
    runs, folded = [], []
    for column, found in groupby(zip(releases, columns, strict=True), lambda one: one[1]):
        runs.append(Run(tuple(release for release, _ in found)))
        folded.append(column)
    cells = zip(*folded, strict=True)
    return StateTable(project, tuple(runs), dict(zip(rows, cells, strict=False)))


def groups(report: Report) -> dict[str, list[Group]]:
    """Fold findings, by patches as the grid has them, '' first; the worst come first in each."""
    place = {release: number for number, release in enumerate(report.releases)}
    told = sorted(report.findings, key=lambda finding: place.get(finding.release, -1))
    same = grouped(((one.patch, one.code, one.target, one.message, one.fix), one) for one in told)
    found = grouped((key[0], _group(alike)) for key, alike in same.items())
    for some in found.values():
        some.sort(key=lambda group: _ORDER[group.finding.severity])
    order = {patch: number for number, patch in enumerate(["", *report.grid])}
    return dict(sorted(found.items(), key=lambda item: order.get(item[0], len(order))))


def _group(alike: Sequence[Finding]) -> Group:
    return Group(alike[-1], tuple(dict.fromkeys(one.release for one in alike if one.release)))


def spans(releases: Iterable[str], report: Report) -> str:
    """Name releases by the spans in which they follow each other: `vllm 0.9.0 - 0.11.0, 0.13.0`."""
    place = {release: number for number, release in enumerate(report.releases)}
    wanted = sorted(set(releases), key=lambda name: (place.get(name, len(place)), name))
    parts = []
    for project, names in groupby(wanted, _project_of):
        runs = groupby(enumerate(names), lambda one: place.get(one[1], -1) - one[0])
        texts = [str(Run(tuple(name for _, name in run))) for _, run in runs]
        parts.append(f"{project} {', '.join(texts)}".strip())
    return "; ".join(parts)


def where(finding: Finding) -> str:
    """Write `file:line`, as much of it as is known."""
    line = "" if finding.line is None else f":{finding.line}"
    return f"{finding.file}{line}" if finding.file else ""


def fix_of(finding: Finding) -> tuple[str, list[str]]:
    """Return what a finding says to do, and the commands that do it, a line each."""
    words, *commands = printable(finding.fix).split("\n  ")
    return words, commands


def tally(report: Report) -> str:
    """Count what is told once, and beside it, where that is more, what JSON counts."""
    told = Counter[str](one.finding.severity for some in groups(report).values() for one in some)
    each = Counter[str](one.severity for one in report.findings)
    parts = [
        count(told[name], label(name))
        + (f" ({each[name]} counted per release)" if each[name] > told[name] else "")
        for name in _ORDER
        if told[name]
    ]
    return ", ".join(parts) or "no findings"


def label(severity: str) -> str:
    """Name a severity as people are told it."""
    return "note" if severity == "info" else str(severity)


def legend(report: Report) -> Mapping[str, str]:
    """Say what the states mean that the command tells."""
    return _OF_FIT if report.command == "fit" else WORDS


def looked_at(report: Report) -> str:
    """Count what was looked at, or say what the command has to say beside the findings."""
    if report.summary:
        return report.summary
    parts = [count(report.patches, "patch"), count(report.read, "release")]
    if out := report.out_of_range:
        more = f" and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
        parts.append(f"out of range of all: {', '.join(out[:_NAMED])}{more}")
    if report.unreadable:
        parts.append(f"{len(report.unreadable)} more cannot be read")
    if report.accepted:
        parts.append(f"{count(len(report.accepted), 'finding')} accepted")
    return ", ".join(parts)


def _project_of(release: str) -> str:
    return release.partition(" ")[0] if " " in release else ""
