"""Compares releases with the reviewed sources in a lock, and records new reviews in it."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.findings import Finding, Place, finding_of_row
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.packages import packages_of
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.lock.format import Lock, Span, joined
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical, release_order
from patchkit.errors import UpstreamError


@dataclass(frozen=True)
class Commands:
    """Writes the commands that findings advise, with the options that the check was called with.

    Args:
        packs: The packs of `--patches`.
        lock: The file of `--lock`.
        releases: The requirements of `--releases`.
    """

    packs: Collection[str] = ()
    lock: str | None = None
    releases: Sequence[str] = ()

    def diff(self, row: Row, release: CheckedRelease) -> str:
        """Write the command that shows what a release changed in a row's targets.

        Args:
            row: The row.
            release: The release.

        Returns:
            The command; '' if none shows it.
        """
        if release.is_local:
            return self._command("diff", row, release.option)
        # `patchkit diff` compares releases of one distribution: that of the row's first package.
        first_package = packages_of([row])[:1]
        if release.project in map(canonical, first_package):
            return self._command("diff", row, f"--to {release.version}")
        return ""

    def accept(self, row: Row, release: CheckedRelease) -> str:
        """Write the command that records the sources of a row's targets in a release as reviewed.

        Args:
            row: The row.
            release: The release.

        Returns:
            The command.
        """
        return self._command("lock", row, release.option)

    def accept_all(self, row: Row, release: CheckedRelease) -> str:
        """Write the command that records the sources in all checked releases as reviewed.

        Args:
            row: The row, whose targets are recorded.
            release: One of the releases.

        Returns:
            The command.
        """
        options = " ".join(
            f"--releases {shlex.quote(requirement)}" for requirement in self.releases
        )
        # Without requirements, the check was of local files, which an option of their own names.
        if not options and release.is_local:
            options = release.option
        return self._command("lock", row, options)

    def _command(self, name: str, row: Row, options: str) -> str:
        """Write a command of patchkit for a row, with the lock and pack of the check's options."""
        parts = ["patchkit", name, row.name, options]
        if self.lock:
            parts.append(f"--lock {shlex.quote(self.lock)}")
        if row.pack in self.packs:
            parts.append(f"--patches {row.pack}")
        return " ".join(part for part in parts if part)


def of_reviews(
    row: Row, coverage: Coverage, lock: Lock, commands: Commands, row_place: Place
) -> Iterator[Finding]:
    """Find targets whose source in a release was not reviewed.

    Args:
        row: The row with the targets; one that the lock does not name has no findings.
        coverage: The releases to look at.
        lock: The reviewed sources.
        commands: Writes the commands of the fix.
        row_place: The place of the row.

    Yields:
        A finding for each target and release, those of one source together.
    """
    if row.name not in lock.entries:
        return
    for (target, fingerprint), releases in _releases_by_source(row, coverage).items():
        reviewed = lock.fingerprints(row.name, str(target))
        if fingerprint in reviewed:
            continue
        newest = releases[-1]
        if reviewed:
            code = codes.DRIFT
            message = (
                f"upstream's source (fingerprint {fingerprint}) has not been reviewed"
            )
            steps = ["see what changed; if the patch still holds, accept it:"]
            steps += [commands.diff(row, newest), commands.accept(row, newest)]
        else:
            code = codes.UNREVIEWED
            message = f"{target} has never been reviewed for {row.name}"
            steps = ["review it, then accept it:", commands.accept_all(row, newest)]
        fix = "\n  ".join(step for step in steps if step)
        for release in releases:
            yield finding_of_row(
                code,
                message,
                fix,
                row,
                row_place,
                target=str(target),
                release=release.name,
            )


def _releases_by_source(
    row: Row, coverage: Coverage
) -> dict[tuple[Target, str], list[CheckedRelease]]:
    """Group releases by target and by the fingerprint of the target's source in them."""
    releases: dict[tuple[Target, str], list[CheckedRelease]] = {}
    for release in coverage.releases:
        for target in coverage.reviewed(row, release):
            fingerprint = release.facts(target).fingerprint
            if fingerprint:
                releases.setdefault((target, fingerprint), []).append(release)
    return releases


def of_bases(row: Row, coverage: Coverage, row_place: Place) -> Iterator[Finding]:
    """Find classes that stay the same from one release to the next while a base changes.

    Args:
        row: The row whose targets are looked at.
        coverage: The releases, in order of version.
        row_place: The place of the row.

    Yields:
        A finding for each class and release.
    """
    previous_releases: dict[tuple[str, Target], CheckedRelease] = {}
    for release in coverage.releases:
        for target in dict.fromkeys(
            change.place for change in coverage.due(row, release)
        ):
            key = (release.project, target)
            previous = previous_releases.get(key)
            previous_releases[key] = release
            if previous is None:
                continue
            names = _changed_bases(target, previous, release)
            if names:
                message = f"changed since the previous release: {', '.join(names)}"
                command = f"patchkit history {names[0]} --releases '{release.project}'"
                fix = f"see when it changed:\n  {command}"
                yield finding_of_row(
                    codes.BASE_CHANGED,
                    message,
                    fix,
                    row,
                    row_place,
                    target=str(target),
                    release=release.name,
                )


def _changed_bases(
    target: Target, before: CheckedRelease, after: CheckedRelease
) -> list[str]:
    """Return the bases of a class that differ between two releases, if the class does not."""
    try:
        old = before.facts(target)
        new = after.facts(target)
    except UpstreamError:
        return []
    if old.fingerprint != new.fingerprint:
        return []  # that is drift, for which a person looks at the bases anyway
    return [
        name for name, fingerprint in new.bases if (name, fingerprint) not in old.bases
    ]


def accept(
    lock: Lock,
    rows: Sequence[Row],
    releases: Sequence[CheckedRelease],
    progress: Progress | None = None,
) -> tuple[Lock, Mapping[str, UpstreamError]]:
    """Record the sources of targets in releases as reviewed.

    Args:
        lock: What was reviewed before.
        rows: The rows with the targets.
        releases: The releases, in order of version.
        progress: Called when a release was looked into.

    Returns:
        The new lock, and the errors of the releases that cannot be read, by their names.
    """
    coverage = Coverage(rows, releases)
    faults = learn_all(releases, coverage.targets, progress)
    readable = coverage.without(faults)
    new_lock = lock
    for row in rows:
        spans_before = lock.entries.get(row.name, {})
        targets = {change.place for change in row.patch.parts if change.is_reviewed}
        spans_by_target = {}
        for target in sorted(targets, key=str):
            old = spans_before.get(str(target), ())
            new = list(_spans(row, target, readable))
            spans = _merged(old, new, readable.releases)
            if spans:
                spans_by_target[str(target)] = spans
        new_lock = new_lock.with_patch(row.name, spans_by_target)
    return new_lock, faults


def _spans(row: Row, target: Target, coverage: Coverage) -> Iterator[Span]:
    """Yield a span for each run of successive releases in which a target has one source."""

    def source(release: CheckedRelease) -> tuple[str, str | None]:
        """Return what stays the same in a run: the distribution, and the fingerprint if any."""
        fingerprint = None
        if target in coverage.reviewed(row, release):
            fingerprint = release.facts(target).fingerprint
        return release.project, fingerprint

    for (project, fingerprint), run in groupby(coverage.releases, source):
        if fingerprint:
            releases = list(run)
            wordings = {release.facts(target).wording for release in releases}
            yield Span(
                fingerprint,
                project,
                releases[0].version,
                releases[-1].version,
                tuple(sorted(wording for wording in wordings if wording)),
            )


def _merged(
    old: Sequence[Span], new: Sequence[Span], releases: Sequence[CheckedRelease]
) -> list[Span]:
    """Join new spans with the old ones that are not wholly replaced by them.

    Args:
        old: the spans of a target in the lock.
        new: its spans in the releases that are accepted now.
        releases: the accepted releases; old spans that reach beyond them stay.
    """
    remaining = []
    for span in old:
        versions = [
            release_order(release.version)
            for release in releases
            if release.project == span.project
        ]
        # Without versions, nothing of the span's distribution was accepted now: the span stays.
        starts_before = not versions or release_order(span.first) < min(versions)
        ends_after = not versions or max(versions) < release_order(span.last)
        if starts_before or ends_after:
            remaining.append(span)
    return joined(new, remaining)
