"""Tells which calls and overrides a release refuses, by the signatures of what they are about."""

from inspect import Parameter

from patchkit.analysis.check import codes
from patchkit.analysis.check.compatibility import refused_call
from patchkit.analysis.check.findings import Fault
from patchkit.analysis.upstream.facts import Facts
from patchkit.analysis.upstream.resolving.syntax import Signature
from patchkit.analysis.upstream.resolving.values import Kind
from patchkit.analysis.uses.use import Call, Use

_CALLED_AS_DEFINED = frozenset(
    {Kind.FUNCTION, Kind.ASYNC_FUNCTION, Kind.CACHED_FUNCTION, Kind.CLASS}
)
_METHODS = frozenset({Kind.METHOD, Kind.ASYNC_METHOD})
_LONG = 240
"""How many characters of a signature are shown where one argument is too many."""
Refusals = dict[tuple[object, ...], Fault | None]
"""Why calls are refused, or None if they are not, by what decides it; a cache."""


def known_refusal(use: Use, facts: Facts, refusals: Refusals) -> Fault | None:
    """Return why a use is refused, computed once for all releases with the same signature.

    Args:
        use: A call, an override, or an assignment; any other use is not refused.
        facts: What the release says of its target.
        refusals: What was computed before.
    """
    # Releases share one object for equal signatures, so its id stands for the signature, and is
    # cheaper to compare. The object lives until the check ends: no other one gets the same id.
    is_certain = facts.is_present and facts.is_sure
    key = (id(use), id(facts.signature), id(facts.widest), facts.kind, is_certain)
    if key not in refusals:
        refusals[key] = _refusal(use, facts)
    return refusals[key]


def _refusal(use: Use, facts: Facts) -> Fault | None:
    """Return why a release refuses a call or an override; None if it does not for certain."""
    if use.guarded:
        return None
    return _call_fault(use, facts) or _override_fault(use, facts)


def _call_fault(use: Use, facts: Facts) -> Fault | None:
    """Return why a release refuses a call; None for another use, or if it takes the call."""
    exact = signature_for(use, facts)
    theirs = exact or _widest_for(use, facts)
    if use.call is None or theirs is None:
        return None
    refusal = _refused(theirs, use.call)
    if refusal is None:
        return None
    message = f"the call fails: {refusal}"
    # Thirty options, which differ from release to release, help nobody.
    is_long = len(str(theirs)) > _LONG and "unexpected keyword" in refusal
    if exact and not is_long:
        message = f"it takes {exact}, so {message}"
    return Fault(codes.CALL_REFUSED, message, "pass the arguments that it takes")


def _override_fault(use: Use, facts: Facts) -> Fault | None:
    """Return why what is put into a place does not take what upstream passes."""
    theirs = signature_for(use, facts)
    if use.ours is None or theirs is None or _takes_anything(theirs):
        return None
    is_bound = use.how == "override" or facts.kind in _METHODS
    ours = use.ours.bound() if is_bound else use.ours
    refusal = refused_call(theirs, ours)
    if refusal is None:
        return None
    name = "the override" if use.how == "override" else "what is put there"
    message = f"upstream takes {theirs}, {name} takes {ours}: {refusal}"
    fix = "accept what upstream passes, and pass it on"
    return Fault(codes.OVERRIDE_REFUSED, message, fix)


def is_comparable(use: Use, facts: Facts) -> bool:
    """Whether a release may refuse a use for certain.

    Args:
        use: The use.
        facts: What the release says of its target.
    """
    return bool(signature_for(use, facts) or _widest_for(use, facts))


def _widest_for(use: Use, facts: Facts) -> Signature | None:
    """Return what takes all calls that the target of a call may take; None if not known."""
    if use.call is None or use.call.bound or not (facts.is_present and facts.is_sure):
        return None
    return facts.widest


def signature_for(use: Use, facts: Facts) -> Signature | None:
    """Return how the target of a use is called in a release, as its callers see it.

    Args:
        use: The use.
        facts: What the release says of the target.

    Returns:
        None if that is not certain.
    """
    is_certain = facts.is_present and facts.is_sure
    if not is_certain or not facts.signature:
        return None
    return _signature_for_callers(use, facts, facts.signature)


def _takes_anything(signature: Signature) -> bool:
    """Whether a signature is `(*args, **kwargs)`, which does not tell how it is called."""
    kinds = {argument.kind for argument in signature.parameters.values()}
    return kinds == {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def _signature_for_callers(
    use: Use, facts: Facts, signature: Signature
) -> Signature | None:
    """Return the signature of a target as its callers see it: of a method, without `self`.

    Args:
        use: The use: a call, an override or an assignment.
        facts: What the release says of the target.
        signature: The signature in the target's definition.

    Returns:
        None if it depends on whether a method is called on an instance, which is not known.
    """
    is_override = use.how == "override"
    is_put = is_override or use.how == "set"
    is_bound = is_put or (use.call is not None and use.call.bound)
    if facts.kind in _METHODS:
        if is_bound:
            return signature.bound()
        return None
    if use.how == "set" and facts.kind in _CALLED_AS_DEFINED - {Kind.CLASS}:
        return signature
    if is_put:
        return None  # the override of a static method, property or such is not compared
    if facts.kind == Kind.CLASSMETHOD:
        return signature.bound()
    if facts.kind in _CALLED_AS_DEFINED and not is_bound:
        return signature
    return None


def _refused(theirs: Signature, call: Call) -> str | None:
    """Return why a signature refuses a call; None if it takes it."""
    positional = [None] * call.places
    named = dict.fromkeys(call.names)
    try:
        if call.more:  # `*args` may pass whatever is missing
            theirs.bind_partial(*positional, **named)
        else:
            theirs.bind(*positional, **named)
    except TypeError as error:
        return str(error)
    return None
