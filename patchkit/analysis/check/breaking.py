"""Finds the release and the nightly on which a patch broke, whatever range its row has."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage, allows
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.using import RowUses
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import parse_version

_DAY = re.compile(r"\.dev(\d{4})(\d\d)(\d\d)")


class Break(NamedTuple):
    """Where a patch broke.

    Args:
        last: the last release on which it holds; None where none is known.
        first: the next one; None where it holds on the newest.
        faults: what breaks it there.
    """

    last: CheckedRelease | None
    first: CheckedRelease | None = None
    faults: Sequence[Fault] = ()

    @property
    def ends(self) -> list[str | None]:
        """What a person calls both: of nightlies with their days."""
        return [_dated_version(self.last), _dated_version(self.first)]


def _dated_version(release: CheckedRelease | None) -> str | None:
    if release is None:
        return None
    version = release.name.partition(" ")[2]
    return f"{day_of(release)} {version}".strip()


def day_of(release: CheckedRelease) -> str:
    """Read the day of a nightly from its version.

    Args:
        release: the nightly.

    Returns:
        The day, such as `2026-11-25`; '' where the version has none.
    """
    day = _DAY.search(release.version)
    if day is None:
        return ""
    return "-".join(day.groups())


def by_day(nightlies: Iterable[CheckedRelease]) -> list[CheckedRelease]:
    """Return the nightlies sorted by their days, those without a day left out.

    Args:
        nightlies: the nightlies.
    """
    dated = filter(day_of, nightlies)
    return sorted(dated, key=lambda nightly: (day_of(nightly), nightly.version))


def break_of(row: Row, releases: Sequence[CheckedRelease]) -> Break:
    """Find where a patch broke after its newest release in range on which it holds.

    Args:
        row: the patch's row.
        releases: the releases of one distribution, the oldest first.

    Returns:
        The last release on which it holds, and the next one.
    """
    inside = [
        index
        for index, release in enumerate(releases)
        if allows(row.patch.requires, release.project, release.version)
    ]
    if not inside:
        return _bisected(row, releases, [0])
    # Mostly the newest holds, else the oldest; where both break, one between them may.
    return _bisected(row, releases, [inside[-1], inside[0], *reversed(inside)])


def break_between(row: Row, nightlies: Sequence[CheckedRelease], broke: Break) -> Break:
    """Find the nightly or commit on which a patch broke, from about the release that holds.

    Args:
        row: the patch's row.
        nightlies: the nightlies or commits, the oldest first.
        broke: the releases between which it broke.

    Returns:
        The last nightly on which it holds, and the next one.
    """
    if not nightlies:
        return Break(None)
    start = len(nightlies) - 1
    held = parse_version(broke.last.version) if broke.last else None
    if held:
        for index, nightly in enumerate(nightlies):
            version = parse_version(nightly.version)
            if version and version > held:
                start = index
                break
    return _bisected(row, nightlies, _steps_back(start))


def _steps_back(start: int) -> Iterator[int]:
    """Yield indexes from a start back to the first, in growing steps.

    A release is cut some time before it is made, and what it holds may be gone from nightlies then.
    """
    yield start
    step = 1
    while step < start:
        yield start - step
        step *= 2
    yield 0


def _bisected(
    row: Row, releases: Sequence[CheckedRelease], starts: Iterable[int]
) -> Break:
    """Halve what lies between a start that holds, the first that does, and what breaks after it."""
    newest = len(releases) - 1
    broken = {newest: _faults(row, releases[newest])}
    if not broken[newest]:
        return Break(releases[newest])
    low = -1
    for start in dict.fromkeys(starts):
        faults = _faults(row, releases[start])
        if not faults:
            low = start
            break
        broken[start] = faults
    high = min(index for index in broken if index > low)
    if low < 0:
        return Break(None, releases[high], broken[high])
    while high - low > 1:
        middle = (low + high) // 2
        faults = _faults(row, releases[middle])
        if faults:
            high = middle
            broken[middle] = faults
        else:
            low = middle
    return Break(releases[low], releases[high], broken[high])


def _faults(row: Row, release: CheckedRelease) -> list[Fault]:
    """List what breaks a patch in a release, in its range or not."""
    coverage = Coverage([row], [release], inverse=True)
    pack = PackSource(row.pack)
    judge = Judge(row, release, pack, EditSequence())
    faults: list[Fault] = []
    for change in coverage.tried(row, release):
        faults += judge.faults(change)
    misfits = RowUses(coverage, {row.pack: pack}).misfits(row, [release])
    faults += [misfit.fault for misfit in misfits[release.name]]
    release.rest()
    return [fault for fault in faults if fault.breaks]
