"""Follows targets from release to release, through moves."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.check.findings import cause_of
from patchkit.analysis.check.learning import learn_all
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.check.similar_names import did_you_mean
from patchkit.analysis.check.trails import Trails
from patchkit.analysis.upstream.moves.whereabouts import MoveResult
from patchkit.analysis.upstream.reading.parallel import Progress
from patchkit.core.rows.target import Target
from patchkit.errors import UpstreamError


class HistoryEntry(NamedTuple):
    """A target in one release.

    Args:
        release: the release's version.
        state: present, absent, undecidable, or unreadable.
        fingerprint: of its source, under this name or the one that it moved to; None if unknown.
        changed: whether its source changed since the last release that had it.
        moved_to: the name that it moved to; None if it did not move.
        likeness: of its source to that before the move, from 0 to 1; None if unknown.
        reason: why it is not present, and what became of it.
    """

    release: str
    state: str
    fingerprint: str | None = None
    changed: bool = False
    moved_to: Target | None = None
    likeness: float | None = None
    reason: str = ""


def histories(
    targets: Sequence[Target],
    releases: Sequence[CheckedRelease],
    progress: Progress | None = None,
) -> dict[Target, list[HistoryEntry]]:
    """Follow targets through the releases of one distribution, forwards and backwards.

    Args:
        targets: the targets.
        releases: the releases, the oldest first.
        progress: called with how many releases are read.

    Returns:
        An entry for each release, by target.
    """
    faults = learn_all(releases, lambda _: targets, progress)
    readable = [release for release in releases if release.name not in faults]
    trails = Trails(readable, targets, directions=(1, -1))
    trails.follow()
    return {target: _history(target, releases, trails, faults) for target in targets}


def _history(
    target: Target,
    releases: Sequence[CheckedRelease],
    trails: Trails,
    faults: Mapping[str, UpstreamError],
) -> list[HistoryEntry]:
    """Make an entry for each release, and compare its source with the last one before it."""
    entries: list[HistoryEntry] = []
    last_fingerprint: str | None = None  # None until a release has the target
    for release in releases:
        fault = faults.get(release.name)
        if fault:
            entries.append(
                HistoryEntry(release.version, "unreadable", reason=cause_of(fault))
            )
            continue
        entry = _entry(release, target, trails.move_of(target, release))
        if entry.fingerprint:
            # An earlier release has a source to compare with, and that is another one.
            has_changed = last_fingerprint not in (None, entry.fingerprint)
            entry = entry._replace(changed=has_changed)
            last_fingerprint = entry.fingerprint
        entries.append(entry)
    return entries


def _entry(
    release: CheckedRelease, target: Target, move: MoveResult | None
) -> HistoryEntry:
    """Make the entry of a release that can be read.

    Args:
        release: the release.
        target: the target.
        move: what became of the target, if the release lacks it; None if that is unknown.
    """
    facts = release.facts(target)
    if move and move.place:
        return HistoryEntry(
            release.version,
            facts.state,
            release.facts(move.place).fingerprint,
            moved_to=move.place,
            likeness=move.likeness,
            reason=facts.reason,
        )
    reason = facts.reason
    if move and move.words:
        reason += f"; {move.words}"
    return HistoryEntry(release.version, facts.state, facts.fingerprint, reason=reason)


def never_there(
    target: Target, entries: Sequence[HistoryEntry], releases: Sequence[CheckedRelease]
) -> str:
    """Say that no release has a target, which may be misspelled, and which names are like it.

    Args:
        target: the target.
        entries: its history.
        releases: the releases, one for each entry.

    Returns:
        The sentence; '' where a release has it or may have it, or where none could be read.
    """
    for entry in entries:
        if entry.state not in ("absent", "unreadable") or entry.moved_to:
            return ""
    lacking = [
        release
        for release, entry in zip(releases, entries, strict=True)
        if entry.state == "absent"
    ]
    if not lacking:
        return ""
    first = lacking[0]
    last = lacking[-1]
    span = first.name
    if len(lacking) > 1:
        span = f"{first.name} to {last.version}"
    hint = did_you_mean(target, last) or did_you_mean(target, first)
    return f"found no {target} in {span}{hint}"
