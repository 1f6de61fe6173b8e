"""Tells what contains a name that a release lacks: a module, a class, or a value."""

from collections.abc import Iterator

from patchkit.analysis.check.late_attributes import set_by_another_module
from patchkit.analysis.check.releases import CheckedRelease
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

_NAMESPACES = frozenset({Kind.MODULE, Kind.CLASS})
"""Kinds whose attributes can be read from their source."""


def reason_for_doubt(target: Target, release: CheckedRelease) -> str:
    """Say why a target may be there all the same.

    Args:
        target: A target that the release lacks.
        release: The release.

    Returns:
        The words for the report; '' if nothing speaks for it.
    """
    if is_attribute_of_value(target, release):
        return "it is an attribute of a value, and code may set those"
    return set_by_another_module(target, release)


def is_attribute_of_value(target: Target, release: CheckedRelease) -> bool:
    """Whether a target is an attribute of a value, such as `a:CONFIG.name`.

    The source does not tell the attributes of a value for certain: other code may set them. What
    is in such an attribute, as in `a:CONFIG.name.more`, is not known either.

    Args:
        target: A target that the release lacks.
        release: The release.
    """
    for holder in holders(target):
        facts = release.facts(holder)
        if facts.is_present:
            return facts.kind not in _NAMESPACES
    return False


def holders(target: Target) -> Iterator[Target]:
    """Yield the classes around a target and its module: `a:C` and `a` for `a:C.f`.

    Args:
        target: The target.
    """
    holder = target
    while holder.qualname:
        holder = holder.holder
        yield holder
