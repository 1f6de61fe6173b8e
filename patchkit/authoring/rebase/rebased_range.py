"""Finds the releases that a carried row holds for, so that its range has only such ones.

`Rebase` looks at two releases. The range of the carried row may have others: to those between the
two, the original row is carried in a trial, and to later ones the carried row.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from patchkit.analysis.check.packages import allows
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.rebase.carried import LeftOut
from patchkit.authoring.rebase.ranges import version_of
from patchkit.authoring.rebase.rebasing import Rebase
from patchkit.core.rows.declaration import Change
from patchkit.errors import PatchkitError

_REASONS = {
    "merged": "its changes have to be merged with upstream's for that release",
    "retired": "that release has its changes itself",
}
"""Why a row does not hold for a release as it is, by the result of a rebase to that release."""


def fit_range(
    rebase: Rebase, releases: Sequence[CheckedRelease]
) -> list[CheckedRelease]:
    """Fit the range of a carried row to the releases that it holds for.

    If upstream has its changes, the range ends where upstream got them. Else, releases for which it
    does not hold are left out.

    Args:
        rebase: The row, after `run`.
        releases: All releases of the distribution, the oldest first.

    Returns:
        The releases that the range has in addition to those of before, and to the later release.
    """
    if rebase.result == "retired":
        rebase.end = _first_with_changes(rebase, releases)
        return []
    added: list[CheckedRelease] = []
    for release in _newly_allowed(rebase, releases):
        reason = _reason_against(rebase, release, releases)
        if reason:
            leave_out(rebase, release, reason)
        else:
            added.append(release)
    return added


def leave_out(rebase: Rebase, release: CheckedRelease, reason: str) -> None:
    """Leave a release out of the range of a carried row.

    Args:
        rebase: The row.
        release: The release.
        reason: Why the row does not hold for it.
    """
    rebase.left_out.append(LeftOut(release.name, version_of(release), reason))


def _newly_allowed(
    rebase: Rebase, releases: Sequence[CheckedRelease]
) -> list[CheckedRelease]:
    """List the releases that the carried row allows, and the row as it is does not.

    The later release of the rebase is left out: the rebase itself has tried it.
    """
    original_requires = rebase.row.patch.requires
    carried_requires = rebase.requires
    newly_allowed: list[CheckedRelease] = []
    for release in releases:
        was_allowed = _is_allowed(original_requires, release)
        if release is rebase.new or was_allowed:
            continue
        if _is_allowed(carried_requires, release):
            newly_allowed.append(release)
    return newly_allowed


def _is_allowed(requires: Collection[str], release: CheckedRelease) -> bool:
    """Whether requirements hold for a release."""
    return allows(requires, release.project, release.version)


def _reason_against(
    rebase: Rebase, release: CheckedRelease, releases: Sequence[CheckedRelease]
) -> str:
    """Say why a carried row does not hold for a further release; '' if it does."""
    is_earlier = releases.index(release) < releases.index(rebase.new)
    if is_earlier:
        trial = _trial_of_original(rebase, release)
    else:
        trial = _trial_of_carried(rebase, release)
    try:
        trial.run()
    except PatchkitError as error:  # such as a release that cannot be read
        return str(error)
    if trial.conflicts:
        return trial.conflicts[0].reason
    return _REASONS.get(trial.result, "")  # with any other result, the row holds


def _trial_of_original(rebase: Rebase, release: CheckedRelease) -> Rebase:
    """Return a rebase of the row as it is to a release before the later one."""
    return Rebase(rebase.row, rebase.old, release, rebase.pack)


def _trial_of_carried(rebase: Rebase, release: CheckedRelease) -> Rebase:
    """Return a rebase of the carried row from the later release to one that is later still."""
    changes: list[Change] = []
    for carried in rebase.changes:
        changes += carried
    patch = rebase.row.patch.__replace__(
        changes=tuple(changes), requires=rebase.requires
    )
    row = rebase.row.__replace__(patch=patch)
    body = rebase.body
    if body:
        body = replace(body)  # a copy, as a rebase changes the text of its body
    return Rebase(row, rebase.new, release, rebase.pack, body=body)


def _first_with_changes(
    rebase: Rebase, releases: Sequence[CheckedRelease]
) -> CheckedRelease:
    """Find the first of the releases from which on upstream has all changes of the row.

    Releases that the row does not allow do not count, as its range ends before them.
    """
    first = rebase.new
    start = releases.index(rebase.old) + 1
    end = releases.index(rebase.new)
    # Backwards, until a release lacks some of the changes, cannot be read, or conflicts.
    for release in reversed(releases[start:end]):
        trial = _trial_of_original(rebase, release)
        try:
            trial.run()
        except PatchkitError:
            break
        if trial.conflicts or trial.result != "retired":
            break
        if _is_allowed(rebase.row.patch.requires, release):
            first = release
    return first
