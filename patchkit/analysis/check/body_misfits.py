"""Finds bodies that do not fit the targets of their rows, without the rest of a check."""

import contextlib
from collections.abc import Iterator, Sequence

from patchkit.analysis.check import codes
from patchkit.analysis.check.body_names import of_names
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.findings import Finding
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Decorate, Replace, Row, Wrap
from patchkit.errors import UpstreamError


def body_misfits(
    rows: Sequence[Row], releases: Sequence[CheckedRelease]
) -> Iterator[Finding]:
    """Find objects of bodies that cannot be put in the place of their targets.

    Changes that build on those of other rows, such as an Edit, are left to a whole check, and so
    are targets that are missing.

    Args:
        rows: The rows.
        releases: The releases to look at; one that cannot be read is left out.

    Yields:
        The errors, those of a row together.
    """
    coverage = Coverage(rows, releases)
    packs = {name: PackSource(name) for name in dict.fromkeys(row.pack for row in rows)}
    for row in rows:
        pack = packs[row.pack]
        if row.patch.body is None or not pack.has_body(row.patch):
            continue
        found = list(of_names(row, pack))
        for release in releases:
            # What was reviewed may be in the cache, and what else is asked for may not.
            with contextlib.suppress(UpstreamError):
                found += _in_release(row, release, coverage, pack)
        for finding in found:
            is_missing = finding.code is codes.TARGET_MISSING
            if finding.severity is codes.Severity.ERROR and not is_missing:
                yield finding


def _in_release(
    row: Row, release: CheckedRelease, coverage: Coverage, pack: PackSource
) -> Iterator[Finding]:
    """Judge what a row puts in the place of targets in a release."""
    judge = Judge(row, release, pack, EditSequence())
    for change in coverage.due(row, release):
        if not isinstance(change, (Decorate, Replace, Wrap)):
            continue
        for fault in judge.faults(change):
            file, line = pack.place(row, fault.by)
            yield Finding(
                fault.code,
                fault.message,
                fault.fix,
                patch=row.name,
                target=str(change.place),
                release=release.name,
                file=file,
                line=line,
            )
