"""The results of `patchkit rebase`: what becomes of a row's changes in a later release."""

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.rows.declaration import Change
from patchkit.core.rows.target import Target


class Conflict(NamedTuple):
    """A change that `rebase` cannot carry, so that a person has to.

    Args:
        target: the target of the change, as the row names it.
        reason: why the change could not be carried.
        text: the merge, with git's markers; '' where nothing was merged.
        upstream: what upstream changed in the target, as a unified diff.
    """

    target: Target
    reason: str
    text: str = ""
    upstream: str = ""


class CarriedChanges(NamedTuple):
    """What became of the changes of one target.

    Args:
        result: `unchanged`, `merged`, or `retired` where upstream has them.
        changes: the changes for the later release; none if the result is `retired`.
    """

    result: str
    changes: Sequence[Change]
