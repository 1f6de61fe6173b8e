"""
Kernels like Triton's, which run past their names.

All launches `kernel[grid](…)` go through the kernel's `run`, so that is what is changed, on the
object itself: whoever has imported it launches the changed one, and the compiler still knows it.
"""

from __future__ import annotations

import inspect
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from patchkit.changes.owners import Location, namespace, read

if TYPE_CHECKING:
    from collections.abc import Callable


def is_kernel(value: Any) -> bool:
    """Whether this is a kernel like Triton's, or one with a tuner or heuristics around it."""
    if isinstance(value, (type, ModuleType, FunctionType)):
        return False
    kind = type(value)
    return all(hasattr(kind, name) for name in ("__getitem__", "run")) and hasattr(value, "fn")


def launch(kernel: Any) -> Location:
    """Return the place that every launch goes through."""
    return Location(kernel, "run", read(kernel, "run"), "run" in namespace(kernel))


def launched(kernel: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """
    Return a `run` that calls a plain function in the kernel's place.

    It gets the kernel's arguments, and of the launch's own (`grid`, `num_warps`, …) those that it
    names. A warm-up, which only compiles, does nothing.
    """
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(given.kind is given.VAR_KEYWORD for given in parameters)
    takes = {given.name for given in parameters if given.kind is not given.POSITIONAL_ONLY}
    own = set(getattr(kernel, "arg_names", ()))

    def run(*args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return None
        if not takes_all:
            kwargs = {name: kwargs[name] for name in kwargs if name in own or name in takes}
        if takes_all or "grid" in takes:
            kwargs["grid"] = grid
        return function(*args, **kwargs)

    return run
