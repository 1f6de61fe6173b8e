"""The release and the nightly on which a patch broke, whatever range its row has."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from patchkit.analysis.check.coverage import Coverage, allows
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.check.edit_sequence import EditSequence
from patchkit.analysis.check.judge import Judge
from patchkit.analysis.check.packs import PackSource
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.using import RowUses
from patchkit.core.rows.declaration import Row
from patchkit.core.versions.requirements import parse_version

_DAY = re.compile(r"\.dev(\d{4})(\d\d)(\d\d)")


class Break(NamedTuple):
    """The last release on which a patch holds, None where none is known, and the next one."""

    last: CheckedRelease | None
    first: CheckedRelease | None = None  # None where it holds on the newest
    faults: Sequence[Fault] = ()

    @property
    def ends(self) -> list[str | None]:
        """What a person calls both: of nightlies with their days."""
        ends = (self.last, self.first)
        return [
            f"{day_of(one)} {one.name.partition(' ')[2]}".strip() if one else None for one in ends
        ]


def day_of(subject: CheckedRelease) -> str:
    """Read the day of a nightly from its version; '' where it has none."""
    found = _DAY.search(subject.version)
    return "-".join(found.groups()) if found else ""


def by_day(nightlies: Iterable[CheckedRelease]) -> list[CheckedRelease]:
    """Sort nightlies by their days; leave out what has none."""
    return sorted(filter(day_of, nightlies), key=lambda one: (day_of(one), one.version))


def break_of(row: Row, releases: Sequence[CheckedRelease]) -> Break:
    """Find where a patch broke after its newest release in range on which it holds."""
    inside = [
        at
        for at, one in enumerate(releases)
        if allows(row.patch.requires, one.project, one.version)
    ]
    return _bisected(row, releases, [*inside[-1:], *inside[:1], *reversed(inside)] or [0])


def break_between(row: Row, subjects: Sequence[CheckedRelease], broke: Break) -> Break:
    """Find the nightly or commit on which a patch broke, from about the release that holds."""
    versions = [parse_version(one.version) for one in subjects]
    held = parse_version(broke.last.version) if broke.last else None
    after = [at for at, one in enumerate(versions) if one and held and one > held]
    first = after[0] if after else len(subjects) - 1
    # A release is cut some time before it is made, so back from there in growing steps.
    starts = [first, *(first - (1 << step) for step in range(len(subjects).bit_length() + 1))]
    return _bisected(row, subjects, [max(0, at) for at in starts]) if subjects else Break(None)


def _bisected(row: Row, subjects: Sequence[CheckedRelease], starts: Iterable[int]) -> Break:
    """Halve what lies between a start that holds, the first that does, and what breaks after it."""
    broken = {len(subjects) - 1: _faults(row, subjects[-1])}
    if not any(broken.values()):
        return Break(subjects[-1])
    low = -1
    for start in dict.fromkeys(starts):
        if not (found := _faults(row, subjects[start])):
            low = start
            break
        broken[start] = found
    high = min(one for one in broken if one > low)
    while 0 <= low < high - 1:
        middle = (low + high) // 2
        if found := _faults(row, subjects[middle]):
            high, broken[middle] = middle, found
        else:
            low = middle
    return Break(subjects[low] if low >= 0 else None, subjects[high], broken[high])


def _faults(row: Row, subject: CheckedRelease) -> list[Fault]:
    coverage, pack = Coverage([row], [subject], inverse=True), PackSource(row.pack)
    judge = Judge(row, subject, pack, EditSequence())
    changes = coverage.tried(row, subject)
    found = [fault for change in changes for fault in judge.faults(change)]
    uses = RowUses(coverage, {row.pack: pack}).misfits(row, [subject])
    found += [one.fault for one in uses[subject.name]]
    subject.rest()
    return [one for one in found if one.breaks]
