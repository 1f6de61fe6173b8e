"""
Whether a function can be called as another is called.

At run time only what cannot work is refused: a call with all that the original requires, or with
all that it takes by position or by keyword alone. Names that differ are for `patchkit check`.
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def refused_call(old: Any, new: Any) -> str | None:
    """
    Find a call that the original allows and the replacement does not.

    Args:
        old: stored value of the original: a function, or a descriptor around one.
        new: the same of the replacement.

    Returns:
        What is wrong, in words; None where nothing is, or where a signature cannot be told.

    """
    theirs, ours = _signature(old), _signature(new)
    if theirs is None or ours is None:
        return None
    parameters = list(theirs.parameters.values())
    required = [given for given in parameters if given.default is inspect.Parameter.empty]
    for call in (required, parameters):
        try:
            ours.bind(*_positions(call), **dict.fromkeys(_keywords(call)))
        except TypeError as error:
            return f"takes {ours}, expected to take what callers of {theirs} pass: {error}"
    return None


def _signature(value: Any) -> inspect.Signature | None:
    function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
    if not isinstance(function, FunctionType):
        return None
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _positions(call: Iterable[inspect.Parameter]) -> list[None]:
    return [None for parameter in call if parameter.kind in _BY_POSITION]


def _keywords(call: Iterable[inspect.Parameter]) -> list[str]:
    return [given.name for given in call if given.kind is inspect.Parameter.KEYWORD_ONLY]
