"""What was reviewed, against releases: sources that nobody has seen, and the new lock."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage, packages_of
from patchkit.analysis.check.findings import Finding, Place
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.lock.format import Lock, Span, joined
from patchkit.core.record import grouped
from patchkit.core.rows.declaration import Row
from patchkit.core.rows.target import Target
from patchkit.core.versions.requirements import canonical, release_order
from patchkit.errors import UpstreamError


@dataclass(frozen=True)
class Commands:
    """Commands that work where the check was made, with its `--patches`, `--lock`, `--releases`."""

    packs: Collection[str] = ()
    lock: str | None = None
    releases: Sequence[str] = ()

    def diff(self, row: Row, subject: CheckedRelease) -> str:
        """Write the command that shows what a release has; '' where none can."""
        if subject.is_local:
            return self._of("diff", row, subject.option)
        is_named = subject.project in map(canonical, packages_of([row])[:1])
        return self._of("diff", row, f"--to {subject.version}") if is_named else ""

    def accept(self, row: Row, subject: CheckedRelease) -> str:
        """Write the command that accepts what a release has."""
        return self._of("lock", row, subject.option)

    def accept_all(self, row: Row, subject: CheckedRelease) -> str:
        """Write the command that accepts what all releases have that were looked at."""
        asked = " ".join(f"--releases {shlex.quote(one)}" for one in self.releases)
        return self._of("lock", row, asked or (subject.option if subject.is_local else ""))

    def _of(self, command: str, row: Row, options: str) -> str:
        lock = f"--lock {shlex.quote(self.lock)}" if self.lock else ""
        pack = f"--patches {row.pack}" if row.pack in self.packs else ""
        return " ".join(filter(None, ("patchkit", command, row.name, options, lock, pack)))


def of_reviews(
    row: Row, coverage: Coverage, lock: Lock, commands: Commands, place: Place
) -> Iterator[Finding]:
    """Find targets whose source is none of those reviewed, of a row that the lock names."""
    if row.name not in lock.entries:
        return
    for (target, mark), several in _sources(row, coverage).items():
        known = lock.fingerprints(row.name, str(target))
        if mark in known:
            continue
        code, newest = codes.DRIFT if known else codes.UNREVIEWED, several[-1]
        if known:
            message = f"upstream's source is {mark}, which is none of those that were reviewed"
            steps = [commands.diff(row, newest), commands.accept(row, newest)]
            fix = "see what changed; if the patch still holds, accept it:"
        else:
            message = f"{target} has never been reviewed for {row.name}"
            fix, steps = "review it, then accept it:", [commands.accept_all(row, newest)]
        fix = "\n  ".join([fix, *filter(None, steps)])
        for one in several:
            yield Finding(code, message, fix, row.name, str(target), one.name, *place)


def _sources(row: Row, coverage: Coverage) -> dict[tuple[Target, str], list[CheckedRelease]]:
    return grouped(
        ((place, mark), subject)
        for subject in coverage.subjects
        for place in coverage.reviewed(row, subject)
        if (mark := subject.facts(place).fingerprint)
    )


def of_bases(row: Row, coverage: Coverage, place: Place) -> Iterator[Finding]:
    """Find classes that stay the same from one release to the next while a base changes."""
    last: dict[tuple[str, Target], CheckedRelease] = {}
    for subject in coverage.subjects:
        for target in dict.fromkeys(one.place for one in coverage.due(row, subject)):
            before = last.get((subject.project, target))
            last[subject.project, target] = subject
            if before and (names := _changed(target, before, subject)):
                message = f"{', '.join(names)}, from which it derives, differs from {before.name}"
                fix = f"patchkit history {names[0]} --releases '{subject.project}'"
                where = (row.name, str(target), subject.name, *place)
                yield Finding(codes.BASE_CHANGED, message, fix, *where)


def _changed(target: Target, before: CheckedRelease, after: CheckedRelease) -> list[str]:
    try:
        old, new = before.facts(target), after.facts(target)
    except UpstreamError:
        return []
    if old.fingerprint != new.fingerprint:
        return []  # that is said, and both are looked at
    return [name for name, mark in new.bases if (name, mark) not in old.bases]


def accept(
    lock: Lock,
    rows: Sequence[Row],
    subjects: Sequence[CheckedRelease],
    progress: Progress | None = None,
) -> tuple[Lock, Mapping[str, UpstreamError]]:
    """Take the sources of targets in releases for reviewed; also return who cannot be read."""
    coverage = Coverage(rows, subjects)
    faults = learn_all(subjects, coverage.targets, progress)
    sound = coverage.without(faults)
    for row in rows:
        old = lock.entries.get(row.name, {})
        targets = {change.place for change in row.patch.changes if change.is_reviewed}
        found = {}
        for target in sorted(targets, key=str):
            new = list(_spans(row, target, sound))
            if spans := _merged(old.get(str(target), ()), new, sound.subjects):
                found[str(target)] = spans
        lock = lock.with_patch(row.name, found)
    return lock, faults


def _spans(row: Row, target: Target, coverage: Coverage) -> Iterator[Span]:

    def source(subject: CheckedRelease) -> tuple[str, str | None]:
        is_due = target in coverage.reviewed(row, subject)
        return subject.project, subject.facts(target).fingerprint if is_due else None

    for (project, mark), run in groupby(coverage.subjects, source):
        if mark:
            several = list(run)
            wordings = {wording for one in several if (wording := one.facts(target).wording)}
            first, last = several[0].version, several[-1].version
            yield Span(mark, project, first, last, tuple(sorted(wordings)))


def _merged(
    old: Sequence[Span], new: Sequence[Span], subjects: Sequence[CheckedRelease]
) -> list[Span]:
    """Keep what was reviewed outside of the releases that were looked at, or before an update."""
    kept = []
    for span in old:
        seen = [release_order(one.version) for one in subjects if one.project == span.project]
        first, last = release_order(span.first), release_order(span.last)
        if not seen or first < min(seen) or max(seen) < last:
            kept.append(span)
    return joined(new, kept)
