"""What a review of targets comes to: the spans of a lock, from releases that were looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchkit.check.coverage import Coverage
from patchkit.check.learning import learn_all
from patchkit.review.lock_format import Lock, Span
from patchkit.review.spans import both_wordings, joined
from patchkit.versions.version import release_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchkit.check.subjects import Subject
    from patchkit.errors import UpstreamError
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target
    from patchkit.upstream.reading.parallel import Progress
    from patchkit.versions.version import ReleaseVersion


def accept(
    lock: Lock, rows: Sequence[Row], subjects: Sequence[Subject], progress: Progress | None = None
) -> tuple[Lock, Mapping[str, UpstreamError]]:
    """
    Take the sources of targets for reviewed, as they are in releases.

    What was reviewed in other releases than these stays.

    Args:
        lock: what has been reviewed so far.
        rows: whose targets.
        subjects: the releases, by distribution, the oldest first.
        progress: told of each that was read.

    Returns:
        The new lock, and the error of each release that cannot be read.

    """
    coverage = Coverage(rows, subjects)
    faults = learn_all(subjects, coverage.targets, progress)
    sound = coverage.without(faults)
    for row in rows:
        old = lock.entries.get(row.name, {})
        targets = {change.place for change in row.patch.changes if change.is_reviewed}
        found = {
            str(target): _merged(
                old.get(str(target), ()), list(_spans(row, target, sound)), sound.subjects
            )
            for target in sorted(targets, key=str)
        }
        lock = lock.with_patch(row.name, {target: one for target, one in found.items() if one})
    return lock, faults


def _spans(row: Row, target: Target, coverage: Coverage) -> Iterator[Span]:
    """One for each run of neighbouring releases with the same source."""
    last: Span | None = None
    for subject in coverage.subjects:
        is_due = target in coverage.reviewed(row, subject)
        here = _span(subject, target) if is_due else None
        if here and last and here[:2] == last[:2]:
            last = last._replace(last=here.last, wordings=both_wordings(last, here))
            continue
        if last:
            yield last
        last = here
    if last:
        yield last


def _span(subject: Subject, target: Target) -> Span | None:
    facts, version = subject.facts(target), subject.version
    if facts.fingerprint is None:
        return None
    wordings = (facts.wording,) if facts.wording else ()
    return Span(facts.fingerprint, subject.project, version, version, wordings)


def _merged(old: Sequence[Span], new: Sequence[Span], subjects: Sequence[Subject]) -> list[Span]:
    """Keep what was reviewed outside of the releases that were looked at, or before an update."""
    versions: dict[str, list[ReleaseVersion]] = {}
    for subject in subjects:
        versions.setdefault(subject.project, []).append(release_order(subject.version))
    kept = [span for span in old if not _is_looked_at(span, versions.get(span.project))]
    return joined(new, kept)


def _is_looked_at(span: Span, seen: Sequence[ReleaseVersion] | None) -> bool:
    return seen is not None and (
        min(seen) <= release_order(span.first) and release_order(span.last) <= max(seen)
    )
