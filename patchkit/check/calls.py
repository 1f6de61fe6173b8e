"""
Whether a function can be called in every way in which callers of another may call it.

Callers may pass what has a name by position or by that name, and may leave out what has a default.
"""

from __future__ import annotations

from inspect import Parameter as Inspected
from inspect import Signature as InspectedSignature
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.signature import (
    KEYWORD_ONLY,
    POSITIONAL,
    POSITIONAL_ONLY,
    VAR_KEYWORD,
    VAR_POSITIONAL,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.signature import Parameter, Signature

_KINDS = {
    POSITIONAL_ONLY: Inspected.POSITIONAL_ONLY,
    POSITIONAL: Inspected.POSITIONAL_OR_KEYWORD,
    VAR_POSITIONAL: Inspected.VAR_POSITIONAL,
    KEYWORD_ONLY: Inspected.KEYWORD_ONLY,
    VAR_KEYWORD: Inspected.VAR_KEYWORD,
}
_MORE = "more"
"""Passed where there is room for anything; no parameter of upstream's is called that."""


def refused_call(theirs: Signature, ours: Signature) -> str | None:
    """
    Find a call that one function takes and another does not.

    Args:
        theirs: of upstream's.
        ours: of the function in its place, with the same `self` or without.

    Returns:
        What is wrong, in words; None where nothing is.

    """
    called = _inspected(ours)
    names = {one.name for one in theirs.parameters}
    named = {one.name for one in theirs.parameters if one.kind != POSITIONAL_ONLY}
    elsewhere = named & {one.name for one in ours.parameters}
    for args, kwargs in _calls(theirs):
        try:
            bound = called.bind(*args, **{name: name for name in kwargs})
        except TypeError as error:
            return f"{error}, when called as f({_words(args, kwargs)})"
        swapped = _swapped(bound.arguments, names, elsewhere)
        if swapped:
            return f"{swapped}, when called as f({_words(args, kwargs)})"
    return None


def takes_wrapped(ours: Signature) -> str | None:
    """Say why a function cannot be called as `by(wrapped, instance, args, kwargs)`, or None."""
    try:
        _inspected(ours).bind("wrapped", "instance", "args", "kwargs")
    except TypeError as error:
        return str(error)
    return None


def _calls(theirs: Signature) -> Iterator[tuple[list[str], list[str]]]:
    """The calls that show every difference: all and only what is required, each way of passing."""
    parameters = theirs.parameters
    for chosen in (parameters, tuple(one for one in parameters if not one.default)):
        yield from _passings(chosen)
    kinds = {one.kind for one in parameters}
    places = [one.name for one in parameters if one.kind in (POSITIONAL_ONLY, POSITIONAL)]
    names = [one.name for one in parameters if one.kind == KEYWORD_ONLY]
    if VAR_POSITIONAL in kinds:
        yield [*places, *[f"{_MORE} arguments"] * 9], names
    if VAR_KEYWORD in kinds:
        yield places, [*names, f"{_MORE}_keywords"]


def _passings(parameters: Sequence[Parameter]) -> Iterator[tuple[list[str], list[str]]]:
    places = [one for one in parameters if one.kind in (POSITIONAL_ONLY, POSITIONAL)]
    names = [one.name for one in parameters if one.kind == KEYWORD_ONLY]
    at_least = sum(one.kind == POSITIONAL_ONLY for one in places)
    for count in range(len(places), at_least - 1, -1):
        by_name = [one.name for one in places[count:]]
        yield [one.name for one in places[:count]], [*by_name, *names]


def _swapped(arguments: dict[str, object], names: set[str], elsewhere: set[str]) -> str:
    """Find what arrives under a name that upstream has for something else, or we have for it."""
    for parameter, passed in arguments.items():
        if not isinstance(passed, str) or passed == parameter:
            continue
        if parameter in names or passed in elsewhere:
            return f"{passed!r} arrives as {parameter!r}"
    return ""


def _words(args: list[str], kwargs: list[str]) -> str:
    return ", ".join([*args, *(f"{name}=…" for name in kwargs)])


def _inspected(signature: Signature) -> InspectedSignature:
    empty = Inspected.empty
    return InspectedSignature(
        [
            Inspected(one.name, _KINDS[one.kind], default=None if one.default else empty)
            for one in signature.parameters
        ]
    )
