"""Functions that something calls past their names: another object at the name changes nothing."""

from __future__ import annotations

import inspect
from types import FunctionType, MappingProxyType
from typing import Any

from patchkit.changes.objects.torch_ops import has_python_kernel, loaded_torch
from patchkit.errors import TargetError


def refuse_registered(value: Any, words: str) -> None:
    """
    Refuse a function that a dispatcher of its module or an operator of torch goes on calling.

    Args:
        value: what a target holds.
        words: for the message, the change and its target.

    Raises:
        TargetError: it is one; the message says what to do instead.

    """
    if not isinstance(value, FunctionType):
        return
    if operator := _operator_of(value):
        raise TargetError(
            f"{words}: found the function of the operator {operator}, which torch goes on calling;"
            f" name the operator ({value.__module__}:{operator}) or Edit the function"
        )
    if dispatcher := _dispatcher_of(value):
        raise TargetError(
            f"{words}: found a function that {dispatcher} dispatches to, and goes on calling; let "
            f"an AfterImport call {dispatcher}.register, or Edit the function"
        )


def refuse_lost_registrations(old: Any, new: Any, words: str) -> None:
    """
    Refuse to put a plain function in the place of a dispatcher.

    Raises:
        TargetError: what was registered would be lost.

    """
    if _is_dispatcher(old) and isinstance(new, FunctionType) and not _is_dispatcher(new):
        raise TargetError(
            f"{words}: found a dispatcher (functools.singledispatch), whose registrations would be "
            f"lost; let an AfterImport call {old.__name__}.register (unrelated=True allows another)"
        )


def _is_dispatcher(value: Any) -> bool:
    """Whether this is what `functools.singledispatch` returned, or a wrapper of it."""
    registry = getattr(value, "registry", None) if isinstance(value, FunctionType) else None
    return isinstance(registry, MappingProxyType) and hasattr(value, "dispatch")


def _dispatcher_of(function: FunctionType) -> str | None:
    # A dict of the module, which other threads may be filling: copied in one go.
    for value in list(function.__globals__.values()):
        if _is_dispatcher(value) and any(part is function for part in value.registry.values()):
            return str(value.__name__)
    return None


def _operator_of(function: FunctionType) -> str | None:
    """
    Name the operator that was made of a function, as far as that can be told.

    torch does not tell which function a kernel is. It is taken for one where an operator with a
    kernel from Python has its name and its arguments, and it does not call that operator itself.
    """
    torch = loaded_torch()
    if torch is None:
        return None
    plain = function.__name__.strip("_")
    ends = (f"::{plain}\n", f"::_{plain}\n", f"::{plain.removesuffix('_impl')}\n")
    every = torch.library._defs  # noqa: SLF001 - what Python has defined; torch has no other list
    text = "\n".join((*every, ""))
    if not any(end in text for end in ends):  # most are not: this takes some microseconds
        return None
    named = sorted(name for name in every if f"{name}\n".endswith(ends))
    operators = (op for op in (_look_up(torch, name) for name in named) if _runs(op, function))
    return next((f"torch.ops.{op}".removesuffix(".default") for op in operators), None)


def _runs(overload: Any, function: FunctionType) -> bool:
    calls = {overload.namespace, overload.name().partition("::")[2]}
    if calls <= {*function.__code__.co_names} or not has_python_kernel(overload):
        return False
    arguments = tuple(inspect.signature(function).parameters)
    return arguments == tuple(part.name for part in overload._schema.arguments)  # noqa: SLF001


def _look_up(torch: Any, name: str) -> Any:
    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
