"""Carries an AfterImport to a later release, and refuses targets that cannot be carried."""

from collections.abc import Iterable

from patchkit.analysis.check.comparison import Comparison, compare
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.rebase.carried import CarriedChanges
from patchkit.core.rows.declaration import AfterImport, Change
from patchkit.core.rows.target import Target
from patchkit.errors import ScaffoldError


def carried_sets(
    change: AfterImport, old: CheckedRelease, new: CheckedRelease
) -> CarriedChanges:
    """Look at the targets that the call of an AfterImport sets: they may move, or change.

    Args:
        change: the change, whose module is that of the later release.
        old: the release that the row holds for.
        new: the later release.

    Returns:
        The change with the targets of the later release; those that upstream has changed are to be
        reviewed.

    Raises:
        ScaffoldError: a release lacks one of them.
    """
    targets: list[str] = []
    to_review: list[Target] = []
    for text in change.sets:
        comparison = compare(Target.parse(text), old, new)
        refuse_absent(comparison, f"its sets names {text}, ")
        targets.append(str(comparison.new.place))
        if comparison.changed:
            to_review.append(comparison.new.place)
    if targets == list(change.sets):
        return CarriedChanges("unchanged", [change], to_review)
    carried = change.__replace__(sets=tuple(targets))
    return CarriedChanges("merged", [carried], to_review)


def refuse_absent(comparison: Comparison, message: str = "") -> None:
    """Raise ScaffoldError if one of two releases lacks a target.

    Args:
        comparison: the target in both.
        message: what the error begins with, before the name of the release.
    """
    for side in (comparison.old, comparison.new):
        if not side.facts.is_present:
            reason = side.facts.reason or "it is not there"
            raise ScaffoldError(f"{message}{side.release}: {reason}")


def refuse_second_change(comparison: Comparison, changes: Iterable[Change]) -> None:
    """Raise ScaffoldError if a target moved to one that another change of the row has already.

    A pile sets a function and, by hand, its copies. If a later release no longer makes one of the
    copies, what is found in its place is the function itself.

    Args:
        comparison: the target in both releases.
        changes: the changes of the row for the later release.
    """
    new_target = comparison.new.place
    if any(change.place == new_target for change in changes):
        message = (
            f"{comparison.new.release} does not have it any more; what is found for it is "
            f"{new_target}, of which the row has another change: delete this one"
        )
        raise ScaffoldError(message)
