"""Finds the release and the nightly on which a patch broke, whatever range its row has."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from patchkit.analysis.check import codes
from patchkit.analysis.check.coverage import Coverage
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.exclusion import (
    additions_beside,
    is_added_by_earlier_row,
)
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.packages import allows
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.check.using import RowUses
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import parse_version
from patchkit.registry import read_pack

_DAY = re.compile(r"\.dev(\d{4})(\d\d)(\d\d)")
"""The day in the version of a nightly, such as `1.2.dev20261125`."""


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
        """The versions of `last` and `first` for a person, of nightlies with the day."""
        return [_dated_version(self.last), _dated_version(self.first)]


def _dated_version(release: CheckedRelease | None) -> str | None:
    """Return `0.32.0`, or of a nightly `2026-11-25 VERSION`; None for no release."""
    if release is None:
        return None
    version = release.name.partition(" ")[2]  # the name begins with the project
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
    """Find the release on which a patch broke, after the newest in its range on which it holds.

    Args:
        row: the patch's row.
        releases: the releases of one distribution, the oldest first.

    Returns:
        The last release on which it holds, and the next one.
    """
    in_range = [
        index
        for index, release in enumerate(releases)
        if allows(row.patch.requires, release.project, release.version)
    ]
    if not in_range:  # no release is likelier to hold than the oldest
        return _bisected(row, releases, starts=[0])
    # `_bisected` tries these in turn until the patch holds on one, and skips repeated ones. It
    # mostly holds on the newest of its range, or at least on the oldest.
    starts = [in_range[-1], in_range[0], *reversed(in_range)]
    return _bisected(row, releases, starts)


def break_between(row: Row, nightlies: Sequence[CheckedRelease], broke: Break) -> Break:
    """Find the nightly or commit on which a patch broke, given the releases between which it broke.

    Args:
        row: the patch's row.
        nightlies: the nightlies or commits, the oldest first.
        broke: the releases; the search starts at the first nightly that is newer than `last`.

    Returns:
        The last nightly on which it holds, and the next one.
    """
    if not nightlies:
        return Break(last=None)
    start = len(nightlies) - 1  # the newest, if none is known to be newer than `last`
    last_version = parse_version(broke.last.version) if broke.last else None
    if last_version:
        for index, nightly in enumerate(nightlies):
            version = parse_version(nightly.version)
            if version and version > last_version:
                start = index
                break
    return _bisected(row, nightlies, _steps_back(start))


def _steps_back(start: int) -> Iterator[int]:
    """Yield indexes from a start back to 0, in growing steps: 10, 9, 8, 6, 2, 0 from 10.

    The branch of a release is cut before its version is published. What the release has may be gone
    by then from the nightlies, so an earlier nightly has to be found that still has it.
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
    """Find where a patch broke, after the first of some starts on which it holds, by bisection.

    Args:
        row: the patch's row.
        releases: the releases, the oldest first.
        starts: indexes of releases on which the patch may hold, the likeliest first.
    """
    newest = len(releases) - 1
    faults_by_index = {newest: _faults(row, releases[newest])}
    if not faults_by_index[newest]:
        return Break(releases[newest])  # it has not broken
    holding = -1  # the index of a release that holds; -1 while none is known
    for start in dict.fromkeys(starts):
        faults = _faults(row, releases[start])
        if not faults:
            holding = start
            break
        faults_by_index[start] = faults
    # The next release that is known to break: at the latest the newest, which was tried first.
    broken = min(index for index in faults_by_index if index > holding)
    if holding < 0:
        return Break(None, releases[broken], _faults(row, releases[broken], hint=True))
    while broken - holding > 1:
        middle = (holding + broken) // 2
        faults = _faults(row, releases[middle])
        if faults:
            broken = middle
            faults_by_index[middle] = faults
        else:
            holding = middle
    return Break(releases[holding], releases[broken], faults_by_index[broken])


def _faults(row: Row, release: CheckedRelease, *, hint: bool = False) -> list[Fault]:
    """List what breaks a patch in a release, whether or not that is in the row's range.

    Args:
        row: the patch's row.
        release: the release.
        hint: whether to name targets that may be meant by those that it lacks.
    """
    # `inverse` is for a release out of range; `beside` are rows that may add what this one uses.
    coverage = Coverage([row], [release], inverse=True, beside=read_pack(row.pack))
    pack = PackSource(row.pack)
    # With an empty EditSequence: the row's Edits are tried without those of other rows.
    judge = Judge(row, release, pack, EditSequence())
    faults: list[Fault] = []
    additions = additions_beside(coverage, release)
    for change in coverage.to_check(row, release):
        if not is_added_by_earlier_row(row, change, release, additions):
            for fault in judge.faults(change):
                message = fault.message
                is_missing = fault.code is codes.TARGET_MISSING
                if hint and is_missing and change.kind not in ("Add", "Provide"):
                    message += did_you_mean(change.place, release)
                faults.append(fault._replace(message=message))
    misfits = RowUses(coverage, {row.pack: pack}).misfits(row, [release])
    faults += [misfit.fault for misfit in misfits[release.name]]
    release.forget_sources()
    return [fault for fault in faults if fault.breaks]
