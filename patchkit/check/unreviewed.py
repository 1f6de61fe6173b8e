"""Sources of targets that nobody has reviewed, and bases that changed under a class."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchkit.check import codes
from patchkit.check.findings import Finding
from patchkit.check.ranges import packages_of
from patchkit.errors import UpstreamError
from patchkit.versions.requirements import canonical

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from patchkit.check.coverage import Coverage
    from patchkit.check.spans import Place
    from patchkit.check.subjects import Subject
    from patchkit.review.lock_format import Lock
    from patchkit.rows.row import Row
    from patchkit.rows.target import Target


@dataclass(frozen=True)
class Commands:
    """
    What a command has to say for it to work where the check was made.

    Args:
        packs: modules of `--patches`.
        lock: file of `--lock`, None where none was named.
        releases: of `--releases`.

    """

    packs: Collection[str] = ()
    lock: str | None = None
    releases: Sequence[str] = ()

    def diff(self, row: Row, subject: Subject) -> str:
        """Write the command that shows what a release has; '' where none can."""
        if subject.is_local:
            return self._of("diff", row, subject.option)
        is_named = subject.project in map(canonical, packages_of([row])[:1])
        return self._of("diff", row, f"--to {subject.version}") if is_named else ""

    def accept(self, row: Row, subject: Subject) -> str:
        """Write the command that accepts what a release has."""
        return self._of("lock", row, subject.option)

    def accept_all(self, row: Row, subject: Subject) -> str:
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
    """
    Find targets of a row whose source is none of those that were reviewed.

    Args:
        row: whose targets; nothing is said of one that the lock does not name.
        coverage: the releases, of which all targets are known.
        lock: what has been reviewed.
        commands: writes what to do.
        place: file and line of the row.

    """
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


def _sources(row: Row, coverage: Coverage) -> dict[tuple[Target, str], list[Subject]]:
    found: dict[tuple[Target, str], list[Subject]] = {}
    for subject in coverage.subjects:
        for place in coverage.reviewed(row, subject):
            if mark := subject.facts(place).fingerprint:
                found.setdefault((place, mark), []).append(subject)
    return found


def of_bases(row: Row, coverage: Coverage, place: Place) -> Iterator[Finding]:
    """
    Find classes that stay the same from one release to the next while a base of theirs changes.

    Args:
        row: whose targets.
        coverage: the releases that are looked at, the oldest first.
        place: file and line of the row.

    """
    last: dict[tuple[str, Target], Subject] = {}
    for subject in coverage.subjects:
        for target in dict.fromkeys(one.place for one in coverage.due(row, subject)):
            before = last.get((subject.project, target))
            last[subject.project, target] = subject
            names = _changed(target, before, subject) if before else []
            if before and names:
                message = f"{', '.join(names)}, from which it derives, differs from {before.name}"
                fix = f"patchkit history {names[0]} --releases '{subject.project}'"
                where = (row.name, str(target), subject.name, *place)
                yield Finding(codes.BASE_CHANGED, message, fix, *where)


def _changed(target: Target, before: Subject, after: Subject) -> list[str]:
    try:
        old, new = before.facts(target), after.facts(target)
    except UpstreamError:
        return []
    if old.fingerprint != new.fingerprint:
        return []  # that is said, and both are looked at
    return [name for name, mark in new.bases if (name, mark) not in old.bases]
