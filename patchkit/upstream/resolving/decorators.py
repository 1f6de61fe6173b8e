"""
What decorators do to what they decorate.

The well-known are listed; upstream's own are read: one that returns what it was given leaves it
as it is, one that uses `functools.wraps` leaves the signature. Of any other nothing is said.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.decorator_source import (
    SAME,
    UNKNOWN,
    WRAPS,
    WRAPS_ASYNC,
    DecoratorSource,
)
from patchkit.upstream.resolving.outside import as_typing
from patchkit.upstream.resolving.touches import bases_added_by, touched_by
from patchkit.upstream.resolving.values import AS_METHOD, Kind, Value

if TYPE_CHECKING:
    from patchkit.upstream.resolving.values import Lookup, Scope

DATACLASSES = {"dataclasses.dataclass": "dataclass", "pydantic.dataclasses.dataclass": "pydantic"}
_MAKERS = ("define", "mutable", "frozen")
_ATTRS = frozenset(
    [
        *("__init__", "__repr__", "__eq__", "__ne__", "__hash__", "__setattr__", "__delattr__"),
        *("__lt__", "__le__", "__gt__", "__ge__", "__getstate__", "__setstate__", "__slots__"),
        *("__attrs_attrs__", "__attrs_init__", "__match_args__", "__weakref__"),
    ]
)
_SETTING = {
    **dict.fromkeys(("attr.s", "attr.attrs", "attr.attributes", "attr.dataclass"), _ATTRS),
    **{f"{package}.{name}": _ATTRS for package in ("attr", "attrs") for name in _MAKERS},
    "huggingface_hub.dataclasses.strict": frozenset(
        ["__init__", "__setattr__", "validate", "__validators__", "__class_validators__"]
    ),
}
"""Decorators of classes that return what they were given, with what they set on it."""
_SAME = frozenset(
    {
        *("abc.abstractmethod", "atexit.register", "enum.unique", "functools.total_ordering"),
        *("typing.override", "typing.final", "typing.no_type_check", "typing.deprecated"),
        *("typing.runtime_checkable", "typing.dataclass_transform", "warnings.deprecated"),
        *("torch.jit.ignore", "torch.jit.unused", "torch.jit.export", "torch.no_grad.__call__"),
        *("torch.library.register_fake", "torch.library.impl"),
        *("pydantic.model_validator", "pydantic.functional_validators.model_validator"),
        *("pydantic.field_validator", "pydantic.functional_validators.field_validator"),
        *("pydantic.model_serializer", "pydantic.field_serializer", "pydantic.computed_field"),
        *("pydantic.validator", "pydantic.root_validator"),
        *DATACLASSES,
        *_SETTING,
    }
)
_ROUTES = ("fastapi.APIRouter.", "fastapi.FastAPI.")
"""Classes whose methods are decorators that return what they were given."""
_WRAPS = frozenset(
    {
        *("contextlib.contextmanager", "contextlib.asynccontextmanager"),
        *("torch.no_grad", "torch.autograd.no_grad", "torch.enable_grad", "torch.inference_mode"),
        *("torch.compile", "functools.singledispatch"),
    }
)
DESCRIPTORS = {
    "builtins.staticmethod": Kind.STATICMETHOD,
    "builtins.classmethod": Kind.CLASSMETHOD,
    "builtins.property": Kind.PROPERTY,
    "abc.abstractproperty": Kind.PROPERTY,
    "functools.cached_property": Kind.CACHED_PROPERTY,
    "functools.lru_cache": Kind.CACHED_FUNCTION,
    "functools.cache": Kind.CACHED_FUNCTION,
}
_AFTER = frozenset({Kind.STATICMETHOD, Kind.CLASSMETHOD, Kind.PROPERTY, Kind.CACHED_PROPERTY})


@dataclass(frozen=True)
class Effect:
    """What one decorator does."""

    what: str  # SAME, WRAPS, WRAPS_ASYNC or UNKNOWN
    kind: Kind | None = None  # what it makes of a function, where it makes a descriptor
    touched: frozenset[str] = frozenset()  # attributes that it sets on a class
    is_open: bool = False  # whether it may set others
    dataclass: str = ""  # the flavour of dataclass that it makes
    bases: tuple[Value, ...] = ()  # classes that it adds to the bases of one
    options: dict[str, ast.expr] = field(default_factory=dict)  # the keywords that it was given


_UNTOLD = Effect(UNKNOWN, is_open=True)


def effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> Effect:
    """Tell what a decorator does."""
    key, notes = ("effect", id(decorator)), scope.tree.notes
    return lookup.settled(notes, key, lambda: _effect_of(lookup, decorator, scope))


def _effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> Effect:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = {one.arg or "**": one.value for one in keywords}
    effects = [_effect(lookup, one, decorator, options) for one in lookup.evaluate(called, scope)]
    is_told = len({(one.what, one.kind) for one in effects}) == 1
    return effects[0] if is_told else _UNTOLD


def function_kind(
    lookup: Lookup, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, *, method: bool
) -> tuple[Kind | None, str]:
    """Tell what a decorated function is; or None, and the decorator that nothing is known about."""
    is_async = isinstance(node, ast.AsyncFunctionDef)
    special: Kind | None = None
    for decorator in reversed(node.decorator_list):
        effect = effect_of(lookup, decorator, scope)
        if effect.what == UNKNOWN:
            return None, ast.unparse(decorator)
        if effect.kind is not None:
            special = effect.kind
        elif effect.what in (WRAPS, WRAPS_ASYNC):
            if special in _AFTER:
                return None, ast.unparse(decorator)
            is_async, special = effect.what == WRAPS_ASYNC, None
    plain = Kind.ASYNC_FUNCTION if is_async else Kind.FUNCTION
    return special or (AS_METHOD[plain] if method else plain), ""


def _effect(
    lookup: Lookup, value: Value, decorator: ast.expr, options: dict[str, ast.expr]
) -> Effect:
    if value.kind is Kind.OUTSIDE or value.dotted:
        return _outside(as_typing(value.dotted), options)
    node = value.nodes[0] if value.nodes else None
    if value.state != "present" or not isinstance(node, ast.FunctionDef) or value.tree is None:
        return _UNTOLD
    source = DecoratorSource(lookup, value)
    touched, is_open = touched_by(lookup, value)
    flavour = source.dataclass_of(node, DATACLASSES)
    what = SAME if flavour else source.outcome(node, is_call=isinstance(decorator, ast.Call))
    bases = tuple(bases_added_by(lookup, value)) if "__bases__" in touched else ()
    touched -= {"__bases__"} if bases else set()
    return Effect(what, None, touched, is_open or what == UNKNOWN, flavour, bases, options)


def _outside(name: str, options: dict[str, ast.expr]) -> Effect:
    if name in DESCRIPTORS:
        return Effect(SAME, DESCRIPTORS[name])
    if name in _SAME or name.startswith(_ROUTES):
        touched = _SETTING.get(name, frozenset())
        flavour = "attrs" if touched is _ATTRS else DATACLASSES.get(name, "")
        return Effect(SAME, None, touched, dataclass=flavour, options=options)
    return Effect(WRAPS) if name in _WRAPS else _UNTOLD
