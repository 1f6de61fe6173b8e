"""Finds what runs when a target is called: a function, or the constructor of a class."""

import functools
from enum import Enum
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.target import Target
from patchkit.errors import TargetError
from patchkit.runtime.changes.owners import CACHED, MISSING, Location, locate, peek
from patchkit.runtime.changes.sites import Sites

_VARARGS = 0x04
"""The flag of code with `*args`."""


class Callee(Record, eq=False):
    """What runs when a target is called.

    Args:
        qualname: Its name in the target's module; for a class, that of its constructor.
        function: The Python function whose code runs; None where only a wrapper can count.
        owner: The class whose instances count, where it inherits the function; None for any call.
    """

    qualname: str
    function: Any
    owner: type | None = None

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """The code that torch.compile would trace."""
        if self.function is None:
            return ()
        return (self.function.__code__,)

    def is_meant(self, frame: FrameType) -> bool:
        """Whether a call of the function is one of the target.

        Args:
            frame: The frame of the function, which has just begun to run.
        """
        if self.owner is None:
            return True
        first = _first_argument(frame)
        cls = first if isinstance(first, type) else type(first)
        return self.owner in cls.__mro__


def find_callee(module: ModuleType, target: Target, sites: Sites) -> Callee:
    """Find what runs when a target is called.

    Args:
        module: The target's module, which has been imported.
        target: The target.
        sites: What patches have changed; beneath them lies what is looked for.

    Returns:
        What runs.

    Raises:
        TargetError: The target is not there, or its calls cannot be counted.
    """
    if not target.qualname:
        raise TargetError("a module is imported, not called")
    first = target.steps[0]
    # What a module's `__getattr__` would import is left alone.
    if peek(module, first) is MISSING:
        raise TargetError(
            f"{target.module} does not hold {first} once it is imported; probe its definition"
        )
    location = locate(module, target.qualname)
    if isinstance(location.value, type):
        return _constructor(module, target.qualname, location.value, sites)
    callee = _callee(target.qualname, location, sites)
    if callee is None:
        raise TargetError(_why_not(location.value))
    return callee


def _constructor(module: ModuleType, qualname: str, cls: type, sites: Sites) -> Callee:
    """Find the function that makes instances of a class."""
    if issubclass(cls, Enum):
        raise TargetError("the members of an enum are made with it")
    for name in ("__init__", "__new__"):
        location = locate(module, f"{qualname}.{name}")
        callee = _callee(f"{qualname}.{name}", location, sites)
        if callee is not None:
            return callee
    raise TargetError("its instances are made by no Python function")


def _callee(qualname: str, location: Location, sites: Sites) -> Callee | None:
    """Return what runs where a value is called; None if that cannot be counted."""
    value = location.value
    site = sites.get(location.owner, location.name)
    if site is not None and site.layers:
        value = site.original
    if isinstance(value, (CACHED, MethodType)):
        return Callee(qualname, None)
    function = _function_in(value)
    if function is None:
        return None
    owner = None
    is_inherited = isinstance(location.owner, type) and not location.own
    # A static method is not told for which class it is called; `__new__` is.
    is_static = isinstance(value, staticmethod) and location.name != "__new__"
    if is_inherited and not is_static:
        owner = location.owner
    return Callee(qualname, function, owner)


def _function_in(value: Any) -> FunctionType | None:
    """Return the function that a method, a property or a function is; None for anything else."""
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    elif isinstance(value, functools.cached_property):
        value = value.func
    if isinstance(value, FunctionType):
        return value
    return None


def _why_not(value: Any) -> str:
    """Say why calls of a value cannot be counted."""
    kind = type(value).__name__
    if callable(value):
        return f"it is of type {kind}, and only Python functions are counted"
    return f"it is of type {kind}, which is read, not called"


def _first_argument(frame: FrameType) -> Any:
    """Return the first argument of a call that has just begun; None if it has none."""
    code = frame.f_code
    if code.co_argcount:
        return frame.f_locals.get(code.co_varnames[0])
    if code.co_flags & _VARARGS:
        rest = frame.f_locals.get(code.co_varnames[code.co_kwonlyargcount], ())
        return next(iter(rest), None)
    return None
