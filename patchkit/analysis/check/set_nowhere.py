"""Tells which names a package sets on upstream that none of the releases has."""

from collections.abc import Sequence

from patchkit.analysis.check.holders import reason_for_doubt
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.uses.use import Use
from patchkit.core.rows.target import Target


def set_nowhere(
    uses: Sequence[Use], releases: Sequence[CheckedRelease]
) -> list[Target]:
    """List what a package assigns to, and no release has.

    It is new then, or was removed before the first of the releases: they do not tell which.

    Args:
        uses: What the package uses.
        releases: The releases, which can be read.

    Returns:
        The names, sorted; those that a release may have are left out.
    """
    targets = {use.target for use in uses if use.how == "set"}
    return [
        target
        for target in sorted(targets, key=str)
        if all(_lacks(release, target) for release in releases)
    ]


def _lacks(release: CheckedRelease, target: Target) -> bool:
    """Whether a release certainly does not have a name."""
    if release.facts(target).state != "absent":
        return False
    return not reason_for_doubt(target, release)
