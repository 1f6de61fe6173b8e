"""What becomes of the changes of a row that are carried to a later release."""

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.core.rows.declaration import Change
from patchkit.core.rows.target import Target


class Conflict(NamedTuple):
    """A change that a person has to carry.

    Args:
        target: what the change names, as the row names it.
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
        changes: the changes for the later release; none where they are retired.
    """

    result: str
    changes: Sequence[Change]
