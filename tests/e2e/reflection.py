"""What an object is and how it is called, by Python's own introspection: nothing of patchkit."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import inspect
import re
import sys
import types
import warnings
from typing import Any

MISSING = object()
PARTS = re.compile(r"(?:^|\.)([A-Za-z_]\w*)|\[([^\]]+)\]")


def locate(module: str, qualname: str) -> tuple[Any, Any]:
    """Find what stands at a place, and what holds it; MISSING where nothing does."""
    owner, value = None, sys.modules.get(module, MISSING)
    if value is MISSING:
        value = importlib.import_module(module)
    for name, key in PARTS.findall(qualname):
        owner = value
        value = item(owner, key) if key else attribute(owner, name)
        if value is MISSING:
            break
    return owner, value


def item(owner: Any, key: str) -> Any:
    try:
        return owner[ast.literal_eval(key)]
    except (LookupError, TypeError):
        return MISSING


def attribute(owner: Any, name: str) -> Any:
    try:
        return inspect.getattr_static(owner, name)
    except AttributeError:
        if issubclass(type(owner), type):  # a metaclass may answer
            return ask(owner, name, MISSING)
        if not isinstance(owner, types.ModuleType):
            return MISSING
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(owner, name)
    except AttributeError:
        with contextlib.suppress(ImportError):
            return importlib.import_module(f"{owner.__name__}.{name}")
        return MISSING


def kind_of(value: Any, owner: Any) -> str:
    """Name what a stored value is."""
    for kind, name in (
        (staticmethod, "staticmethod"),
        (classmethod, "classmethod"),
        (property, "property"),
        (functools.cached_property, "cached property"),
        (types.ModuleType, "module"),
        (type, "class"),
    ):
        if isinstance(value, kind):
            return name
    if isinstance(value, types.FunctionType):
        is_async = inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(
            value
        )
        what = "async " if is_async else ""
        return what + ("method" if isinstance(owner, type) else "function")
    if type(value) is type(functools.cache(len)):
        return "cached function"
    if type(value).__name__ in ("member_descriptor", "_tuplegetter"):
        return "field"
    if isinstance(value, types.MethodType):
        return "bound method"
    return "constant"


def ask(value: Any, name: str, default: Any = None) -> Any:
    """Read an attribute of anything, which may raise anything."""
    try:
        return getattr(value, name, default)
    except Exception:
        return default


def signature_of(value: Any) -> list[list[Any]] | None:
    """Read how something is called: names, kinds, whether each may be left out."""
    function = (
        ask(value, "__func__", value)
        if not isinstance(value, types.MethodType)
        else value
    )
    if isinstance(value, property):
        function = value.fget
    elif isinstance(value, functools.cached_property):
        function = value.func
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = inspect.signature(function)
            kinds = [int(one.kind) for one in found.parameters.values()]
            if isinstance(value, type) and kinds == [2, 4]:  # (*args, **kwargs)
                # inspect stops at a __new__ that leaves it to __init__ to say more
                started = inspect.signature(inspect.getattr_static(value, "__init__"))
                listed = list(started.parameters.values())
                if listed[0].kind is not inspect.Parameter.VAR_POSITIONAL:  # self
                    listed = listed[1:]
                found = started.replace(parameters=listed)
    except Exception:  # C functions say nothing, stand-ins raise what they like
        return None
    return [
        [one.name, int(one.kind), one.default is not one.empty]
        for one in found.parameters.values()
    ]


def is_field(owner: Any, name: str) -> bool:
    if not isinstance(owner, type):
        return False
    known = set(ask(owner, "model_fields") or ()) | set(
        ask(owner, "__private_attributes__") or ()
    )
    known |= (
        {one.name for one in dataclasses.fields(owner)}
        if is_dataclass(owner)
        else set()
    )
    known |= set(ask(owner, "__dataclass_fields__") or ())
    known |= {one.name for one in ask(owner, "__attrs_attrs__") or ()}
    if issubclass(owner, dict):
        known |= {
            one for base in owner.__mro__ for one in ask(base, "__annotations__") or ()
        }
    return name in known


def is_dataclass(owner: type) -> bool:
    return dataclasses.is_dataclass(owner)
