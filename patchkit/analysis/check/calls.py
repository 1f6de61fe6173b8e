"""Checks that the object of a Replace is called as upstream's is, and returns the same kind."""

from collections.abc import Iterator

from patchkit.analysis.check import codes
from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.findings import OR_END, REWRITE, Fault, undecidable
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.code_kinds import PLAIN_RESULT
from patchkit.analysis.upstream.resolving.natures import TO_CALL, Nature
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import METHODS, Kind
from patchkit.core.rows.declaration import Replace, Wrap
from patchkit.core.rows.target import Target

_PLAIN = frozenset(
    [Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION, Kind.DECORATED]
)
FUNCTIONS = METHODS | _PLAIN | {Kind.PROPERTY, Kind.CACHED_PROPERTY}
"""Kinds of what is called, or runs a function when it is read."""
UNWRAPPABLE = {
    Kind.CLASS,
    Kind.CONSTANT,
    Kind.MODULE,
    Kind.FIELD,
    Kind.INSTANCE_ATTRIBUTE,
}
"""Kinds of what is no function; an object of them may be callable all the same."""
VALUES = frozenset([Kind.FIELD, Kind.CONSTANT, Kind.ASSIGNMENT])
_DEFINED = FUNCTIONS | UNWRAPPABLE
"""Kinds whose name says what a target is."""
_BOUND = METHODS - {Kind.STATICMETHOD}
"""Kinds whose first parameter callers do not pass."""
_OR_UNRELATED = (
    "if this row also replaces every caller, unrelated=True skips the comparison"
)


def other_kind(
    place: Target, facts: Facts, expected: str, instead: str = "change the body"
) -> Fault:
    """Make the fault of a target that is of another kind than expected.

    Args:
        place: the target.
        facts: what the release says of it.
        expected: what a change of its kind needs.
        instead: what to do where the change is for this release alone.

    Returns:
        The fault.
    """
    name = facts.module or str(place)
    if facts.module and facts.qualname:
        name = f"{facts.module}:{facts.qualname}"
    kind = facts.kind
    if facts.nature and kind not in _DEFINED:
        kind = facts.nature  # such as an item of a table that is a class
    message = f"found {name} ({kind}), expected {expected}"
    return Fault(codes.KIND_CHANGED, message, f"{instead}, {OR_END}")


def nothing_to_call(change: Wrap, facts: Facts) -> Fault | None:
    """Check that a Wrap has something to call.

    Args:
        change: the Wrap.
        facts: what the release says of its target.

    Returns:
        The fault, if the target is a class or a value, or if the source does not tell.
    """
    if facts.nature not in (*TO_CALL, Nature.UNKNOWN):
        instead = "Replace it"
        if facts.nature == Nature.CLASS:
            instead = "Wrap its __init__ or another method, or Replace it"
        return other_kind(change.place, facts, "a callable, as Wrap needs", instead)
    if facts.nature in TO_CALL:
        return None
    reason = facts.reason or f"the source does not tell what {change.place} is"
    return undecidable(f"{reason}; a Wrap needs something to call")


def not_to_be_replaced(change: Replace, facts: Facts, ours: Facts) -> Fault | None:
    """Check that a value or a class of the body can take the place of a target by its kind.

    Args:
        change: the Replace.
        facts: what the release says of its target.
        ours: what the body says of its object, which is no function.

    Returns:
        The fault, if the target is a function, or if it may well be one.
    """
    if facts.nature == Nature.CODE and facts.is_sure:
        expected = f"the kind of {change.by} ({ours.kind})"
        return other_kind(change.place, facts, expected)
    if ours.kind == Kind.CLASS:
        return None
    if facts.nature == Nature.ROUTINE or is_named_as_class(change, facts):
        reason = facts.reason or f"{change.place} is defined outside the release"
        return undecidable(f"{reason}; a value cannot replace a function or a class")
    return None


def is_named_as_class(change: Replace, facts: Facts) -> bool:
    """Whether a target of another package may be a class, as it has no name of a constant.

    Args:
        change: the Replace.
        facts: what the release says of its target.
    """
    is_constant = change.place.qualname.isupper()
    return facts.kind == Kind.OUTSIDE and not facts.nature and not is_constant


def refused_calls(change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
    """Check that the body's object takes all calls that upstream's takes.

    Args:
        change: the Replace.
        facts: what the release says of its target.
        ours: what the body says of its object.

    Yields:
        A fault if a call is refused, or if either does not tell how it is called.
    """
    upstream_call = _sure_signature(facts)
    body_call = _sure_signature(ours)
    if upstream_call is None or body_call is None:
        # What neither side calls, such as a constant, needs no signature.
        if facts.kind in FUNCTIONS or ours.kind in FUNCTIONS:
            unknown = facts if upstream_call is None else ours
            reason = (
                unknown.reason
                or f"the source does not tell how {unknown.qualname} is called"
            )
            message = (
                f"cannot tell whether {change.by} takes what callers pass: {reason}"
            )
            fix = "compare the parameters by hand, or test it"
            yield Fault(codes.NOT_COMPARED, message, fix, change.by)
        return
    if facts.kind in _BOUND:  # callers do not pass `self`, so its name does not matter
        upstream_call = upstream_call.bound()
        body_call = body_call.bound()
    refusal = refused_call(upstream_call, body_call)
    if refusal:
        message = (
            f"upstream takes {upstream_call}, {change.by} takes {body_call}: {refusal}"
        )
        yield Fault(
            codes.SIGNATURE_CHANGED, message, f"{REWRITE}; {_OR_UNRELATED}", change.by
        )


def other_type(change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
    """Compare the type of a constant of the body with that of upstream's.

    Args:
        change: A Replace of a value by a value.
        facts: What upstream's is.
        ours: What the body's is.

    Yields:
        A fault if both are spelled out, and their types differ.
    """
    if facts.constant and ours.constant and facts.constant != ours.constant:
        message = (
            f"found {change.by} ({ours.constant}), expected {facts.constant}, "
            "as upstream has it"
        )
        fix = "write a value of that type; unrelated=True allows another"
        yield Fault(codes.TYPE_CHANGED, message, fix, change.by)


def other_result(change: Replace, facts: Facts, ours: Facts) -> Iterator[Fault]:
    """Check that calls return the same kind of thing: both a coroutine, or both a generator.

    Args:
        change: the Replace.
        facts: what the release says of its target.
        ours: what the body says of its object.

    Yields:
        A fault if both are known, and differ.
    """
    is_known = facts.is_sure and ours.is_sure and facts.returned and ours.returned
    if is_known and facts.returned != ours.returned:
        message = (
            f"{change.by} returns {ours.returned}, expected {facts.returned}, as upstream's "
            f"{facts.qualname} does"
        )
        fix = f"{REWRITE}; unrelated=True allows another"
        yield Fault(codes.KIND_CHANGED, message, fix, change.by)


def other_wrapper_result(change: Wrap, facts: Facts, ours: Facts) -> Iterator[Fault]:
    """Check that a wrapper that is a coroutine function or a generator is around one of its kind.

    A plain wrapper may return whatever upstream's function returns.

    Args:
        change: the Wrap.
        facts: what the release says of its target.
        ours: what the body says of its wrapper.

    Yields:
        A fault if both are known, and differ.
    """
    if ours.returned == PLAIN_RESULT or not (facts.is_sure and ours.is_sure):
        return
    if facts.returned and ours.returned and facts.returned != ours.returned:
        message = (
            f"{change.by} returns {ours.returned}, upstream's {facts.qualname} returns "
            f"{facts.returned}, which its callers expect"
        )
        yield Fault(codes.KIND_CHANGED, message, REWRITE, change.by)


def is_no_function(ours: Facts) -> bool:
    """Whether an object of the body is surely a value or a class, which is no function.

    Args:
        ours: what the body says of it.
    """
    return ours.nature in (Nature.CLASS, Nature.VALUE)


def is_stored_elsewhere(facts: Facts) -> bool:
    """Whether a target is a value that is not stored on its class: a slot, a member of an enum.

    Args:
        facts: what the release says of it.
    """
    is_known = facts.is_sure or facts.kind == Kind.FIELD
    return facts.kind in VALUES and is_known and bool(facts.storage)


def _sure_signature(facts: Facts) -> Signature | None:
    """Return how an object is called, if the source tells for certain."""
    if facts.is_sure:
        return facts.signature
    return None
