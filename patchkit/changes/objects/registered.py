"""Functions that something calls past their names: another object at the name changes nothing."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from patchkit.changes.objects.callables import is_dispatcher
from patchkit.changes.objects.torch_ops import operator_of
from patchkit.errors import TargetError


def refuse_registered(value: Any, words: str) -> None:
    """
    Refuse a function that a dispatcher of its module or an operator of torch goes on calling.

    Args:
        value: what a target holds.
        words: for the message, the change and its target.

    Raises:
        TargetError: it is one; the message says what can be done in its stead.

    """
    if not isinstance(value, FunctionType):
        return
    if operator := operator_of(value):
        raise TargetError(
            f"{words}: found the function of the operator {operator}, which torch goes on calling;"
            f" name the operator ({value.__module__}:{operator}) or Edit the function"
        )
    if dispatcher := _dispatcher_of(value):
        raise TargetError(
            f"{words}: found a function that {dispatcher} dispatches to, and goes on calling; let "
            f"an AfterImport call {dispatcher}.register, or Edit the function"
        )


def _dispatcher_of(function: FunctionType) -> str | None:
    # A dict of the module, which other threads may be filling: copied in one go.
    values = list(function.__globals__.values())
    for value in [one for one in values if type(one) is FunctionType and hasattr(one, "registry")]:
        if is_dispatcher(value) and any(one is function for one in value.registry.values()):
            return str(value.__name__)
    return None
