"""Recognises targets that Python keeps elsewhere than in an attribute: members, parts of code."""

import dataclasses
from collections.abc import Callable

from patchkit.analysis.check import codes
from patchkit.analysis.check.findings import REWRITE, Fault
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.fields import flavour
from patchkit.analysis.upstream.resolving.resolve import Resolver
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.core.rows.target import Target

PARTS_OF_FUNCTIONS = frozenset(
    ["__closure__", "__code__", "__defaults__", "__globals__", "__kwdefaults__"]
)
"""Attributes that the type of functions has, and that no function has for itself."""
_FUNCTIONS = frozenset(
    [
        Kind.ASYNC_FUNCTION,
        Kind.ASYNC_METHOD,
        Kind.FUNCTION,
        Kind.METHOD,
    ]
)
_MEMBERS = frozenset([Kind.ASSIGNMENT, Kind.CONSTANT])
"""Kinds of values that are members where the body of an enum's class assigns them."""


def as_new_member(
    resolver: Resolver, target: Target, facts: Facts, ours: Facts | None
) -> Facts:
    """Say that a value which an Add puts on an enum would not become a member of the enum.

    Python makes the members when it creates the class. So `storage` of the facts says then that
    the target is kept elsewhere than on its class, which is a fault of the Add.

    Args:
        resolver: The release.
        target: The new attribute.
        facts: What the release says of it.
        ours: What the body says of its value; None where that is not known.

    Returns:
        The facts with this `storage`, or the same facts for any other attribute.
    """
    name = str(target.steps[-1])
    is_value = ours is not None and ours.kind in _MEMBERS
    # A function, or a name with an underscore, is no member of an enum, and may be added.
    if facts.is_present or not is_value or name.startswith("_"):
        return facts
    for owner in resolver.resolve(target.holder).variants:
        if owner.has_class_statement and flavour(resolver.lookup, owner) == "enum":
            return dataclasses.replace(facts, storage="a member of an enum")
    return facts


def part_of_function(
    target: Target, facts_of: Callable[[Target], Facts]
) -> Fault | None:
    """Return the fault of a target such as `f.__code__`, of which no source tells anything.

    Args:
        target: The target.
        facts_of: Says what the release has at a target.

    Returns:
        The fault, which names the function; None for any other target.
    """
    name = target.steps[-1] if target.steps else ""
    if name not in PARTS_OF_FUNCTIONS:
        return None
    owner = facts_of(target.holder)
    if owner.kind not in _FUNCTIONS:
        return None
    message = f"found {target}, a part of the function {owner.qualname}; expected the function"
    return Fault(codes.KIND_CHANGED, message, REWRITE)
