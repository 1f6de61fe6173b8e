"""
Kernels that are launched as `kernel[grid](…)`, like those that `@triton.jit` makes.

All launches go through the object's `run`, so that is what is changed, on the object itself:
whoever has imported it launches the changed one, and it stays what the compiler knows.
"""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import Location, stored

if TYPE_CHECKING:
    from collections.abc import Callable


def is_kernel(value: Any) -> bool:
    """Whether this is such a kernel, or one with a tuner or heuristics around it."""
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    kind = type(value)
    return all(hasattr(kind, name) for name in ("__getitem__", "run")) and hasattr(value, "fn")


def launch(kernel: Any) -> Location:
    """Return the place that every launch goes through."""
    return Location(kernel, "run", *stored(kernel, "run"))


def launched(kernel: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Return a `run` that calls a plain function in the kernel's place.

    It gets the kernel's arguments, and of the launch's own (`grid`, `num_warps`, …) those that it
    names. A warm-up, which only compiles, does nothing.
    """
    takes = _keywords(function)
    own = set(getattr(kernel, "arg_names", ()))

    def run(*args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return None
        if takes is not None:
            kwargs = {name: kwargs[name] for name in kwargs if name in own or name in takes}
        if takes is None or "grid" in takes:
            kwargs["grid"] = grid
        return function(*args, **kwargs)

    return run


def _keywords(function: Callable[..., Any]) -> set[str] | None:
    """The keywords that a function takes; None for any."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return {
        parameter.name
        for parameter in parameters
        if parameter.kind is not parameter.POSITIONAL_ONLY
    }
