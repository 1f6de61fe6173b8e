"""Tells where a change is made in the files of a release."""

from collections.abc import Sequence
from typing import NamedTuple

from patchkit.analysis.check.releases import CheckedRelease
from patchkit.core.rows.declaration import Add, AddField, Change, Edit, Replace
from patchkit.core.rows.target import Item, Target
from patchkit.errors import ScaffoldError


class Place(NamedTuple):
    """Where a change is made in the files of a release.

    Args:
        path: the file.
        module: the name of its module.
        qualname: the qualified name of what is changed or added there.
    """

    path: str
    module: str
    qualname: str

    @property
    def is_top_level(self) -> bool:
        """Whether it is a name of the module, and in no class."""
        return "." not in self.qualname


Places = Sequence[tuple[Place, Change]]
"""Changes, each with the place where it is made."""


def place_of(change: Change, release: CheckedRelease) -> Place:
    """Find where a change is made.

    An Edit or an AddField changes a function or a class in the file that defines it. A Replace or
    an Add sets a name in the module that its target names, or in a class, in the file that defines
    the class.

    Args:
        change: the change.
        release: the release.

    Returns:
        The place.

    Raises:
        ScaffoldError: the release has no such place, or a diff cannot change it.
    """
    target = change.place
    if isinstance(change, (Edit, AddField)):
        return Place(*_defined(target, release))
    if not isinstance(change, (Add, Replace)):
        raise ScaffoldError(f"{change.kind} has no text of its own")
    if isinstance(change, Replace):
        _refuse_missing(target, release)
    name = target.steps[-1]
    path, module, owner = _defined(target.holder, release)
    if isinstance(name, Item):
        raise ScaffoldError("it is an item of a table")
    # The getter `C.x.fget` is, in the text, the property `C.x` itself.
    if name == "fget":
        return Place(path, module, owner)
    qualname = f"{owner}.{name}" if owner else name
    return Place(path, module, qualname)


def _refuse_missing(target: Target, release: CheckedRelease) -> None:
    """Raise ScaffoldError if a release does not have a target."""
    facts = release.facts(target)
    if not facts.is_present:
        raise ScaffoldError(facts.reason or "it is not there")


def _defined(target: Target, release: CheckedRelease) -> tuple[str, str, str]:
    """Return the file, the module and the qualified name that define a target."""
    _refuse_missing(target, release)
    facts = release.facts(target)
    if not facts.path:
        raise ScaffoldError(f"no file of {release.name} defines {target}")
    return facts.path, facts.module, facts.qualname
