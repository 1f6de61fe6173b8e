"""The results of `patchkit rebase`: what becomes of a row's changes in a later release."""

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.analysis.check.comparison import Side
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.authoring.source.definitions import Definitions
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


class LeftOut(NamedTuple):
    """A release that the range of a carried row leaves out.

    Args:
        release: its name.
        version: its version, as requirements name it.
        reason: why the row does not hold for it.
    """

    release: str
    version: str
    reason: str


class CarriedChanges(NamedTuple):
    """What became of the changes of one target.

    Args:
        result: `unchanged`, `merged`, or `retired` where upstream has them.
        changes: the changes for the later release; none if the result is `retired`.
        to_review: targets that upstream has changed, and that these changes have no text of: a
            person has to read what upstream changed.
    """

    result: str
    changes: Sequence[Change]
    to_review: Sequence[Target] = ()


class UpstreamDefinition(NamedTuple):
    """A definition of upstream in one release.

    Args:
        module: the module that it stands in.
        qualname: its qualified name there.
    """

    module: Definitions
    qualname: str

    @classmethod
    def read(cls, release: CheckedRelease, side: Side) -> "UpstreamDefinition":
        """Read the definition of a target, with the module that it stands in.

        Args:
            release: the release.
            side: the target in that release.

        Returns:
            The definition.
        """
        path = side.facts.path
        content = release.source.read(path) or b""
        module = Definitions.of(path, content)
        return cls(module, side.facts.qualname)
