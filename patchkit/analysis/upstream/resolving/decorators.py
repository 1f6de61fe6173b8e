"""What decorators do: the well-known are listed, those that upstream defines are read."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.outside import as_typing
from patchkit.analysis.upstream.resolving.syntax import DEFS, SCOPES, Def, dotted, truth_of
from patchkit.analysis.upstream.resolving.touches import (
    DEPTH,
    bases_added_by,
    function_named,
    touched_by,
)
from patchkit.analysis.upstream.resolving.values import AS_METHOD, Kind, Lookup, Scope, Value

SAME = "same"  # it returns what it was given
WRAPS = "wraps"  # with `functools.wraps`, which leaves the signature
WRAPS_ASYNC = "wraps as a coroutine function"
UNKNOWN = "unknown"
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
}
"""Decorators of classes that return what they were given, with what they set on it."""
_SAME = {
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
_ROUTES = ("fastapi.APIRouter.", "fastapi.FastAPI.")
"""Classes whose methods are decorators that return what they were given."""
_WRAPS = {
    *("contextlib.contextmanager", "contextlib.asynccontextmanager"),
    *("torch.no_grad", "torch.autograd.no_grad", "torch.enable_grad", "torch.inference_mode"),
    *("torch.compile", "functools.singledispatch"),
}
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
class DecoratorEffect:
    """What one decorator does."""

    outcome: str  # SAME, WRAPS, WRAPS_ASYNC or UNKNOWN
    kind: Kind | None = None  # what it makes of a function, where it makes a descriptor
    touched: frozenset[str] = frozenset()  # attributes that it sets on a class
    is_open: bool = False  # whether it may set others
    dataclass: str = ""  # the flavour of dataclass that it makes
    bases: tuple[Value, ...] = ()  # classes that it adds to the bases of one
    options: dict[str, ast.expr] = field(default_factory=dict)  # the keywords that it was given


_UNTOLD = DecoratorEffect(UNKNOWN, is_open=True)


def effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> DecoratorEffect:
    """Tell what a decorator does."""
    key, notes = ("effect", id(decorator)), scope.tree.conclusions
    return lookup.remember(notes, key, lambda: _effect_of(lookup, decorator, scope))


def _effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> DecoratorEffect:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = {one.arg or "**": one.value for one in keywords}
    effects = [_effect(lookup, one, decorator, options) for one in lookup.evaluate(called, scope)]
    is_told = len({(one.outcome, one.kind) for one in effects}) == 1
    return effects[0] if is_told else _UNTOLD


def function_kind(lookup: Lookup, node: Def, scope: Scope) -> tuple[Kind | None, str]:
    """Tell what a decorated function is; or None, and the decorator that nothing is known about."""
    is_async = isinstance(node, ast.AsyncFunctionDef)
    special: Kind | None = None
    for decorator in reversed(node.decorator_list):
        effect = effect_of(lookup, decorator, scope)
        if effect.outcome == UNKNOWN:
            return None, ast.unparse(decorator)
        if effect.kind is not None:
            special = effect.kind
        elif effect.outcome in (WRAPS, WRAPS_ASYNC):
            if special in _AFTER:
                return None, ast.unparse(decorator)
            is_async, special = effect.outcome == WRAPS_ASYNC, None
    plain = Kind.ASYNC_FUNCTION if is_async else Kind.FUNCTION
    return special or (AS_METHOD[plain] if scope.classes else plain), ""


def _effect(
    lookup: Lookup, value: Value, decorator: ast.expr, options: dict[str, ast.expr]
) -> DecoratorEffect:
    if value.kind is Kind.OUTSIDE or value.dotted:
        return _outside(as_typing(value.dotted), options)
    node = value.nodes[0] if value.nodes else None
    if value.state != "present" or not isinstance(node, ast.FunctionDef) or value.tree is None:
        return _UNTOLD
    source = _Source(lookup, value)
    touched, is_open = touched_by(lookup, value)
    flavour = source.dataclass_of(node)
    what = SAME if flavour else source.outcome(node, is_call=isinstance(decorator, ast.Call))
    bases = tuple(bases_added_by(lookup, value)) if "__bases__" in touched else ()
    touched -= {"__bases__"} if bases else set()
    return DecoratorEffect(what, None, touched, is_open or what == UNKNOWN, flavour, bases, options)


def _outside(name: str, options: dict[str, ast.expr]) -> DecoratorEffect:
    if name in DESCRIPTORS:
        return DecoratorEffect(SAME, DESCRIPTORS[name])
    if name in _SAME or name.startswith(_ROUTES):
        touched = _SETTING.get(name, frozenset())
        flavour = "attrs" if touched is _ATTRS else DATACLASSES.get(name, "")
        return DecoratorEffect(SAME, None, touched, dataclass=flavour, options=options)
    return DecoratorEffect(WRAPS) if name in _WRAPS else _UNTOLD


class _Use(NamedTuple):
    """How a decorator is used, and how its source names what it decorates: `func`, `args[0]`."""

    given: str
    is_call: bool  # whether it was called with options first, and is not given the object yet
    facts: Mapping[str, bool]  # tests that this decides, as they are written


class _Source:
    """The source of a decorator."""

    def __init__(self, lookup: Lookup, value: Value) -> None:
        self._lookup = lookup
        self._tree = value.module_tree
        self._is_bound = value.kind in (Kind.CLASSMETHOD, Kind.METHOD)

    def outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int = 0) -> str:
        """Tell what comes out: of `@node`, or of `@node(…)`."""
        key = ("outcome", id(node), is_call, self._is_bound, depth)
        work = partial(self._outcome, node, is_call=is_call, depth=depth)
        return self._lookup.remember(self._tree.conclusions, key, work)

    def _outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int) -> str:
        values = (getattr(statement, "value", None) for statement in node.body)
        is_generator = any(isinstance(value, (ast.Yield, ast.YieldFrom)) for value in values)
        if depth > DEPTH or is_generator or ".__signature__" in _stored(node):
            return UNKNOWN
        use = _use(node, is_call=is_call, skipped=int(self._is_bound and depth == 0))
        returned: list[ast.expr | None] = []
        _follow(node.body, use, returned)
        outcomes = {self._returned(node, one, use, depth) for one in returned}
        if outcomes == {SAME, WRAPS}:
            return WRAPS
        return outcomes.pop() if len(outcomes) == 1 else UNKNOWN

    def dataclass_of(self, node: ast.FunctionDef) -> str:
        """Tell which flavour of dataclass it makes, `unknown` for another, '' where none."""
        marks = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
        if not any(dotted(one).endswith("dataclass_transform") for one in marks):
            return ""
        called = {
            DATACLASSES.get(value.dotted, "")
            for one in ast.walk(node)
            if isinstance(one, ast.Call) and "dataclass" in dotted(one.func)
            for value in self._lookup.evaluate(one.func, Scope(self._tree))
        } - {""}
        return called.pop() if len(called) == 1 else "unknown"

    def _returned(
        self, node: ast.FunctionDef, returned: ast.expr | None, use: _Use, depth: int
    ) -> str:
        if isinstance(returned, ast.Call) and dotted(returned.func).endswith("cast"):
            returned = returned.args[-1] if len(returned.args) == 2 else returned
        name = returned.id if isinstance(returned, ast.Name) else ""
        inner = self._tree.remember_with_file(("inner", id(node)), lambda: _defined_in(node))
        if use.is_call:
            target = inner.get(name)
            if not isinstance(target, ast.FunctionDef):
                return UNKNOWN
            return self.outcome(target, is_call=False, depth=depth + 1)
        if returned is None or not use.given:
            return UNKNOWN
        if ast.unparse(returned) == use.given:
            return UNKNOWN if use.given in _stored(node) else SAME
        if name in inner:
            return _wrapped(node, inner[name], use.given)
        return self._of_call(returned, use, inner, depth)

    def _of_call(self, call: ast.expr, use: _Use, inner: Mapping[str, Def], depth: int) -> str:
        if not isinstance(call, ast.Call) or not call.args:
            return UNKNOWN
        called = call.func.func if isinstance(call.func, ast.Call) else call.func
        target = inner.get(dotted(called)) or function_named(
            self._lookup, self._tree, dotted(called)
        )
        if ast.unparse(call.args[0]) != use.given or not isinstance(target, ast.FunctionDef):
            return UNKNOWN
        return self.outcome(target, is_call=called is not call.func, depth=depth + 1)


def _use(node: ast.FunctionDef, *, is_call: bool, skipped: int) -> _Use:
    arguments = node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][skipped:]
    rest = arguments.vararg.arg if arguments.vararg else ""
    given = names[0] if names else f"{rest}[0]" if rest else ""
    facts = {
        **dict.fromkeys((given, f"{given} is not None", f"callable({given})"), not is_call),
        f"{given} is None": is_call,
    }
    if arguments.kwarg and not is_call:
        keywords = arguments.kwarg.arg
        facts |= {keywords: False, f"len({keywords}) == 0": True}
    if rest and not is_call:
        facts[f"len({rest}) == 1"] = True
    return _Use(given, is_call, facts)


def _defined_in(node: ast.FunctionDef) -> dict[str, Def]:
    inner = [one for one in ast.walk(node) if isinstance(one, DEFS) and one is not node]
    return {one.name: one for one in reversed(inner)}


def _stored(node: ast.AST) -> set[str]:
    stores = (one for one in ast.walk(node) if isinstance(getattr(one, "ctx", None), ast.Store))
    return {getattr(one, "id", f".{getattr(one, 'attr', '')}") for one in stores}


def _wrapped(node: ast.FunctionDef, inner: Def, given: str) -> str:
    """Tell whether an inner function wraps what is given: above it, or by an assignment."""
    above = inner.decorator_list if len(inner.decorator_list) == 1 else []
    below = [
        one.value.func
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        if dotted(one.targets[0]) == inner.name
    ]
    calls = (one for one in (*above, *below) if isinstance(one, ast.Call) and one.args)
    wraps = (call for call in calls if dotted(call.func).endswith("wraps"))
    if not any(ast.unparse(call.args[0]) == given for call in wraps):
        return UNKNOWN
    return WRAPS_ASYNC if isinstance(inner, ast.AsyncFunctionDef) else WRAPS


def _follow(body: Sequence[ast.stmt], use: _Use, returned: list[ast.expr | None]) -> bool:
    """Note what is returned on the ways that a use leaves open; may they run through?"""
    for statement in body:
        if isinstance(statement, (ast.Return, ast.Raise)):
            returned += [statement.value] if isinstance(statement, ast.Return) else []
            return False
        if isinstance(statement, ast.If):
            truth = truth_of(statement.test, lambda test: use.facts.get(ast.unparse(test)))
            ways = [] if truth is False else [statement.body]
            ways += [] if truth is True else [statement.orelse]
            if not any(_follow(way, use, returned) for way in ways):
                return False
        elif not isinstance(statement, SCOPES):
            blocks = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
            blocks += [handler.body for handler in getattr(statement, "handlers", ())]
            for block in blocks:
                _follow(block, use, returned)
    return True
