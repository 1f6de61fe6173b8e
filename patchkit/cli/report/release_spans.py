"""Names releases by spans, such as `0.9.0 to 0.11.0` for those that follow each other."""

from collections.abc import Collection, Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from patchkit.analysis.check.findings import Report


class ReleaseRun(NamedTuple):
    """Consecutive releases, such as those in which no patch changes its state.

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

    @property
    def span(self) -> str:
        """The run in a sentence, such as `0.9.0 to 0.11.0`."""
        if len(self.releases) == 1:
            return self.first
        return f"{self.first} to {self.last}"

    def __str__(self) -> str:
        if len(self.releases) == 1:
            return self.first
        return f"{self.first} - {self.last}"


def counted_spans(releases: Collection[str], report: Report) -> str:
    """Name releases by their spans, with the number of releases of each project.

    Args:
        releases: The releases, in any order.
        report: The report, whose releases tell which follow each other.

    Returns:
        A text such as `vllm 0.9.0 to 0.11.0, 0.13.0, 4 releases; ray 2.1.0`.
    """
    parts = []
    for spans, number in _spans_by_project(releases, report):
        part = spans
        if number > 1:
            part += f", {number} releases"
        parts.append(part)
    return "; ".join(parts)


def release_spans(releases: Collection[str], report: Report) -> str:
    """Name releases by their spans.

    Args:
        releases: The releases, in any order.
        report: The report, whose releases tell which follow each other.

    Returns:
        A text such as `vllm 0.9.0 to 0.11.0, 0.13.0; ray 2.1.0`.
    """
    by_project = _spans_by_project(releases, report)
    return "; ".join(spans for spans, _ in by_project)


def project_of(release: str) -> str:
    """Return the project of a release such as `vllm 0.9.0`; '' if it names none.

    Args:
        release: The name of the release.
    """
    project, space, _ = release.partition(" ")
    if not space:
        return ""
    return project


def _spans_by_project(
    releases: Collection[str], report: Report
) -> list[tuple[str, int]]:
    """Return a text with the spans of each project, and the number of releases in them."""
    positions = {release: number for number, release in enumerate(report.releases)}
    end = len(positions)

    def order(release: str) -> tuple[int, str]:
        """Return a key to sort releases as in the report, unknown ones last."""
        position = positions.get(release, end)
        return position, release

    spans = []
    ordered_releases = sorted(set(releases), key=order)
    for project, group in groupby(ordered_releases, project_of):
        of_project = list(group)
        runs = _consecutive(of_project, positions)
        names = ", ".join(run.span for run in runs)
        text = f"{project} {names}".strip()
        spans.append((text, len(of_project)))
    return spans


def _consecutive(
    releases: Iterable[str], positions: Mapping[str, int]
) -> list[ReleaseRun]:
    """Group releases that follow each other.

    Args:
        releases: The releases, in order.
        positions: The position of each release in the report.
    """
    runs: list[list[str]] = []
    next_position = None
    for release in releases:
        position = positions.get(release, -1)  # -1 follows nothing
        if position != next_position:
            runs.append([])
        runs[-1].append(release)
        next_position = position + 1
    return [ReleaseRun(tuple(run)) for run in runs]
