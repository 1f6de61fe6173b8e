"""Replace and Add: the target becomes the body's object, also where upstream has nothing yet.

Most targets are one attribute or item. Where upstream reads something else (a kernel's launcher,
torch's dispatcher), that is where the object goes.
"""

import contextlib
import copy
import functools
from collections.abc import Callable, Iterable
from inspect import isasyncgenfunction, isgeneratorfunction
from types import FunctionType, MethodType, ModuleType
from typing import Any

from patchkit.core.rows.declaration import Add, Replace
from patchkit.core.rows.target import Item
from patchkit.errors import TargetError
from patchkit.runtime.changes.context import Context, PreparedLayers
from patchkit.runtime.changes.objects.kernels import is_kernel, operator_at
from patchkit.runtime.changes.objects.refusals import (
    refuse_fixed,
    refuse_kept,
    refuse_registered,
    refused_call,
)
from patchkit.runtime.changes.owners import (
    CACHED,
    MISSING,
    Location,
    is_decorated,
    locate,
    locate_free,
    read,
)

_Decorate = Callable[[Any, FunctionType], Any]


def prepare(change: Replace | Add, context: Context) -> PreparedLayers:
    """Resolve and check what comes there; a TargetError where it cannot serve in that place."""
    return _added(change, context) if isinstance(change, Add) else _replaced(change, context)


def _replaced(change: Replace, context: Context) -> PreparedLayers:
    assert context.module is not None
    qualname, words = change.place.qualname, f"Replace({change.target!r})"
    location = locate_free(context.module, qualname)
    old, new = location.value, _body_object(context, change.by)
    is_of_kind = old is not MISSING and isinstance(new, type(old))  # one operator for another
    if (op := operator_at(location, context.sites)) and not is_of_kind:
        if not callable(new):
            raise TargetError(f"{words}: found {new!r}, expected a function")
        return _layers(op.locations, new, context)
    if old is MISSING:
        locate(context.module, qualname)  # raises, and says what is near
    refuse_kept(location, new, words)
    refuse_registered(old, words)
    if not change.unrelated:
        _refuse_unrelated(words, old, new)
    value = _substitute(location, new, unrelated=change.unrelated)
    _refuse_call(change, old, value)
    refuse_fixed(location, words)
    return _layers([location], value, context)


def _body_object(context: Context, name: str) -> Any:
    """Find the body's object; in a class as it is stored, so a static method is one."""
    named = context.object_named(name)
    outer, _, last = name.rpartition(".")
    owner = context.object_named(outer) if outer else None
    value = read(owner, last) if isinstance(owner, type) else named
    return named if value is MISSING else value


def _layers(places: Iterable[Location], value: Any, context: Context) -> PreparedLayers:
    return PreparedLayers(
        [(context.sites.at(place), context.layer(lambda _: value, base=True)) for place in places]
    )


def _added(change: Add, context: Context) -> PreparedLayers:
    assert context.module is not None
    words = f"Add({change.target!r})"
    location = locate_free(context.module, change.place.qualname)
    new = _body_object(context, change.by)
    _refuse_present(words, location, context)
    refuse_kept(location, new, words)
    kind = type(location.owner)
    if isinstance(location.name, Item) and not issubclass(kind, dict):
        raise TargetError(
            f"{words}: found a {kind.__name__}, expected a dict; Replace the whole, or let an "
            "AfterImport extend it and return what takes that back"
        )
    refuse_fixed(location, words)
    value = _substitute(location, new)
    return _layers([location], value, context)


def _refuse_present(words: str, location: Location, context: Context) -> None:
    owner, name, value, own = location
    inherits = not (own or isinstance(name, Item))
    if value is MISSING or (inherits and vars(object).get(str(name)) is value):
        return  # what every class and instance has is nobody's
    whose = "upstream"
    if context.sites.holds(owner, name):
        whose = "another patch adds or changes the same, and upstream or that one"
    elif inherits:
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
        cls = next((cls for cls in classes if name in vars(cls)), None)
        whose = f"upstream's {cls.__module__}.{cls.__qualname__}" if cls else whose
    raise TargetError(
        f"{words}: {whose} has it: found {value!r:.80}; "
        "retire the patch if upstream has it now, Replace it, or let an AfterImport extend it"
    )


def _refuse_call(change: Replace, old: Any, new: Any) -> None:
    if not change.unrelated and (fault := refused_call(old, new)):
        raise TargetError(
            f"Replace({change.target!r}): {change.by} {fault} (unrelated=True allows another)"
        )


def _refuse_unrelated(words: str, old: Any, new: Any) -> None:
    fault = ""
    # Not by `issubclass`: a Protocol forbids it, and a class may answer what it likes.
    if isinstance(old, type) and not (isinstance(new, type) and old in new.__mro__):
        whose = f"{old.__module__}.{old.__qualname__}"
        fault = f"found {new!r}, expected a class that derives from {whose}"
    elif is_kernel(old) and not is_kernel(new):
        fault = f"found {new!r}, expected a kernel; to run a function in its place, Wrap it"
    elif _is_code(old) and not (callable(new) or _is_code(new)):
        fault = f"found {new!r}, expected something to call in place of {old!r}"
    if fault:
        raise TargetError(f"{words}: {fault} (unrelated=True allows another)")


def _is_code(value: Any) -> bool:
    if isinstance(value, (FunctionType, staticmethod, classmethod, property, CACHED)):
        return True
    return is_decorated(value)


def _substitute(location: Location, new: Any, *, unrelated: bool = False) -> Any:
    """Return what is stored so that the body's object serves in the target's place.

    A plain function takes on what the target is: a method of the same kind, a property's getter, a
    bound method, and (unless `unrelated`) a cached function, a context manager. A method gets a
    function of its own under its own name, as pickle finds a bound method by that.
    """
    old, owner, name = location.value, location.owner, location.name
    decorate: _Decorate = (lambda _, plain: plain) if unrelated else _decorated
    if isinstance(owner, type):
        return _in_class(owner, str(name), old, new, decorate)
    if not isinstance(new, FunctionType):
        return new
    of_class = not (isinstance(owner, ModuleType) or isinstance(name, Item) or location.own)
    if of_class and isinstance(old, FunctionType):
        return MethodType(new, owner)
    return decorate(old, new)


def _in_class(owner: type, name: str, old: Any, new: Any, decorate: _Decorate) -> Any:
    if not isinstance(new, FunctionType):
        return _told_its_name(owner, name, new)
    if isinstance(old, property):
        return old.getter(new)
    if isinstance(old, functools.cached_property):
        return _told_its_name(owner, name, functools.cached_property(new))
    if isinstance(old, staticmethod):
        return staticmethod(decorate(old.__func__, new))
    own = _own_function(owner, name, new)
    if isinstance(old, classmethod):
        return classmethod(decorate(old.__func__, own))
    return decorate(old, own)


def _told_its_name(owner: type, name: str, value: Any) -> Any:
    """Do what Python does for a descriptor in a class's body."""
    tell = getattr(type(value), "__set_name__", None)
    if tell is None:
        return value
    if isinstance(value, functools.cached_property):
        value = copy.copy(value)  # it refuses a second name
        value.attrname = None
    tell(value, owner, name)
    return value


def _own_function(owner: type, name: str, function: FunctionType) -> FunctionType:
    if function.__name__ == name:
        return function
    code, defaults = function.__code__, function.__defaults__
    twin = FunctionType(code, function.__globals__, name, defaults, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__annotations__ = function.__annotations__
    twin.__doc__ = function.__doc__
    vars(twin).update(vars(function))
    twin.__qualname__, twin.__module__ = f"{owner.__qualname__}.{name}", owner.__module__
    return twin


def _decorated(old: Any, new: FunctionType) -> Any:
    """Decorate as upstream did, where what its callers use comes from the decorator."""
    if isinstance(old, CACHED):
        return functools.lru_cache(**old.cache_parameters())(new)
    if isinstance(old, FunctionType) and old.__globals__ is vars(contextlib):
        if isgeneratorfunction(new):
            return contextlib.contextmanager(new)
        if isasyncgenfunction(new):
            return contextlib.asynccontextmanager(new)
    return new
