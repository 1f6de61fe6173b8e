"""Finds what runs when a target is called: a function, or the constructor of a class."""

import ctypes
import functools
import sys
import weakref
from collections.abc import Callable
from enum import Enum
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.record import Record
from patchkit.core.rows.target import Target
from patchkit.errors import TargetError
from patchkit.runtime.changes.owners import CACHED, MISSING, Location, locate, peek
from patchkit.runtime.changes.sites import Sites

CallTest = Callable[[FrameType], bool]
"""Tells by the frame of a call that has just begun whether it is one of a target."""

_COPIES_LOCALS: bool = sys.version_info[:2] == (3, 12)
"""Whether reading `f_locals` makes a copy that lives until the call ends; in Python 3.13 it is a
view. Before 3.12 nothing reads it, as there is no monitor."""

_VARARGS = 0x04
"""The flag of code with `*args`."""


class Callee(Record, eq=False):
    """What runs when a target is called.

    Args:
        qualname: Its name in the target's module; for a class, that of its constructor.
        place: The `id` of the object whose attribute it is.
        function: The Python function whose code runs; None if only a wrapper can count its calls.
        owner: The class that inherits the function, whose own calls alone count; None if the
            target is where the function is defined.
        instance: The instance that a bound method is bound to; None for anything else.
        beneath: The functions that patches have replaced or wrapped, if `function` is one that a
            patch has put there. It may call them.
        is_patched: Whether a patch has put `function` there, or has edited its code.
    """

    qualname: str
    place: int
    function: Any
    owner: type | None = None
    instance: Any = None
    beneath: tuple[FunctionType, ...] = ()
    is_patched: bool = False

    @property
    def codes(self) -> tuple[CodeType, ...]:
        """The code that torch.compile traces when it compiles a call of the target."""
        functions = self.beneath
        if self.function is not None:
            functions = (self.function, *functions)
        return tuple(function.__code__ for function in functions)

    @property
    def test(self) -> CallTest:
        """What tells whether a call of the function is one of the target.

        It keeps neither the class nor the instance alive, which the program may delete.
        """
        if self.instance is not None:
            return functools.partial(_is_of_instance, _reference(self.instance))
        if self.owner is not None:
            return functools.partial(_is_of_class, _reference(self.owner))
        return _is_any


def _is_any(_frame: FrameType) -> bool:
    return True


def _is_of_instance(instance: Callable[[], Any], frame: FrameType) -> bool:
    """Whether a call that has just begun is one of a method of an instance."""
    return _first_argument(frame) is instance()


def _is_of_class(owner: Callable[[], Any], frame: FrameType) -> bool:
    """Whether a call that has just begun is one of a class that inherits the function.

    The first argument is an instance, or for a class method or `__new__` the class. Only its type
    is asked, not `isinstance`, which may run code of the program: the `__class__` of a proxy.
    """
    first = _first_argument(frame)
    cls = owner()
    if cls in type(first).__mro__:
        return True
    return issubclass(type(first), type) and cls in type.mro(first)


def _reference(value: Any) -> Callable[[], Any]:
    """Return a weak reference to an object, or a strong one if its class allows none."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def find_callee(module: ModuleType, target: Target, sites: Sites) -> Callee:
    """Find what runs when a target is called.

    Args:
        module: The target's module, which has been imported.
        target: The target.
        sites: What patches have changed in this process.

    Returns:
        What runs.

    Raises:
        TargetError: The target is not there, or its calls cannot be counted.
    """
    if not target.qualname:
        raise TargetError("a module is imported, not called")
    first = target.steps[0]
    # Not by `getattr`: the module's `__getattr__` may import something.
    if peek(module, first) is MISSING:
        raise TargetError(
            f"{target.module} does not hold {first} once it is imported; probe its definition"
        )
    _refuse_computed(module, target)
    location = locate(module, target.qualname)
    if isinstance(location.value, type):
        return _constructor(module, target.qualname, location.value, sites)
    callee = _callee(target.qualname, location, sites)
    if callee is None:
        raise TargetError(_why_not(location.value))
    return callee


def _refuse_computed(module: ModuleType, target: Target) -> None:
    """Refuse a target behind a property: the probe would run the property's code to get there."""
    owner: Any = module
    for step in target.steps[:-1]:
        owner = peek(owner, step)
        is_code = isinstance(owner, (property, functools.cached_property))
        # What no `__dict__` holds (MISSING) could only come from a `__getattr__`.
        if is_code or owner is MISSING:
            raise TargetError(
                f"{step} is computed when it is read; probe what it returns"
            )


def _constructor(module: ModuleType, qualname: str, cls: type, sites: Sites) -> Callee:
    """Find the function that runs when a class is called: its `__init__`, or else its `__new__`.

    Raises:
        TargetError: Both are C code, or the class is an enum.
    """
    if issubclass(cls, Enum):
        raise TargetError("the members of an enum are made with it")
    for name in ("__init__", "__new__"):
        location = locate(module, f"{qualname}.{name}")
        callee = _callee(f"{qualname}.{name}", location, sites)
        # All Protocols share the `__init__` that `typing` gives them, so `__new__` is tried then.
        if (
            callee is not None
            and getattr(callee.function, "__module__", "") != "typing"
        ):
            return callee
    raise TargetError("its instances are made by no Python function")


def _callee(qualname: str, location: Location, sites: Sites) -> Callee | None:
    """Return what runs when the value of an attribute is called; None if that cannot be counted."""
    values = _values(location, sites)
    value = values[-1]  # what is there now
    place = id(location.owner)
    if isinstance(value, CACHED):  # C code, which only a wrapper can count
        return Callee(qualname, place, function=None)
    function = _function_in(value)
    if function is None:
        return None
    if isinstance(value, MethodType):
        return Callee(qualname, place, function, instance=value.__self__)
    owner = None
    is_inherited = isinstance(location.owner, type) and not location.own
    # The class that a static method is called on is unknown; `__new__` gets it as an argument.
    is_static = isinstance(value, staticmethod) and location.name != "__new__"
    if is_inherited and not is_static:
        owner = location.owner
    beneath = tuple(filter(None, map(_function_in, values[:-1])))
    is_patched = bool(beneath) or _is_edited(function, sites)
    return Callee(
        qualname, place, function, owner, beneath=beneath, is_patched=is_patched
    )


def _values(location: Location, sites: Sites) -> list[Any]:
    """List the values that an attribute has had: the original, then what each patch has put there.

    The wrapper of the probe itself, which belongs to no patch, is left out.
    """
    site = sites.get(location.owner, location.name)
    if site is None or not site.layers:
        return [location.value]
    values = [layer.value for layer in site.layers if layer.patch]
    return [site.original, *values]


def _is_edited(function: FunctionType, sites: Sites) -> bool:
    """Whether an Edit has replaced the code of a function."""
    if not sites.has_noted("CodeSites"):  # no Edit was applied in this process
        return False
    from patchkit.runtime.changes.source.code_site import CodeSites  # noqa: PLC0415 - rarely needed

    code_site = sites.noted(CodeSites).get(function)
    return code_site is not None and bool(code_site.patches)


def _function_in(value: Any) -> FunctionType | None:
    """Return the function of a method or property, or a function itself; None for anything else."""
    if isinstance(value, (staticmethod, classmethod, MethodType)):
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
        return _variable(frame, code.co_varnames[0])
    if code.co_flags & _VARARGS:
        # `co_varnames` has the keyword-only parameters before `*args`.
        positional = _variable(frame, code.co_varnames[code.co_kwonlyargcount])
        return next(iter(positional), None)
    return None


def _variable(frame: FrameType, name: str) -> Any:
    """Return a local variable of a frame, and make no copy of its variables.

    A copy would keep their values alive until the call ends, even if the function deletes them.
    """
    if not _COPIES_LOCALS:
        return frame.f_locals[name]
    # It reads one variable, without a dict of all.
    read: Any = ctypes.pythonapi.PyFrame_GetVarString
    read.restype = ctypes.py_object
    return read(ctypes.py_object(frame), name.encode())
