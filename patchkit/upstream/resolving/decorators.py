"""
What decorators do to what they decorate.

The well-known are listed; upstream's own are read: one that returns what it was given leaves it
as it is, one that uses `functools.wraps` leaves the signature. Of any other nothing is said.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchkit.upstream.resolving.lookup import Lookup

SAME = "same"
WRAPS = "wraps"
WRAPS_ASYNC = "wraps as a coroutine function"
UNKNOWN = "unknown"

_SAME = frozenset(
    [
        "abc.abstractmethod",
        "typing.override",
        "typing.final",
        "typing.no_type_check",
        "typing.runtime_checkable",
        "typing.dataclass_transform",
        "enum.unique",
        "torch.jit.ignore",
        "torch.jit.unused",
        "torch.jit.export",
        "torch.library.register_fake",
        "torch.library.impl",
        "torch.no_grad.__call__",
        "pydantic.model_validator",
        "pydantic.field_validator",
        "pydantic.model_serializer",
        "pydantic.field_serializer",
        "pydantic.functional_validators.field_validator",
        "pydantic.functional_validators.model_validator",
        "pydantic.computed_field",
        "pydantic.validator",
        "pydantic.root_validator",
        "atexit.register",
        "functools.total_ordering",
        "dataclasses.dataclass",
        "pydantic.dataclasses.dataclass",
        "fastapi.APIRouter.get",
        "fastapi.APIRouter.post",
        "fastapi.APIRouter.put",
        "fastapi.APIRouter.delete",
        "fastapi.APIRouter.websocket",
        "fastapi.FastAPI.get",
        "fastapi.FastAPI.post",
        "fastapi.FastAPI.exception_handler",
        "fastapi.FastAPI.middleware",
        "fastapi.APIRouter.patch",
        "fastapi.APIRouter.head",
        "fastapi.APIRouter.api_route",
    ]
)
_WRAPS = frozenset(
    [
        "contextlib.contextmanager",
        "contextlib.asynccontextmanager",
        "torch.no_grad",
        "torch.inference_mode",
        "torch.enable_grad",
        "torch.compile",
        "functools.singledispatch",
        "torch.autograd.no_grad",
    ]
)
_DESCRIPTORS = {
    "builtins.staticmethod": Kind.STATICMETHOD,
    "builtins.classmethod": Kind.CLASSMETHOD,
    "builtins.property": Kind.PROPERTY,
    "abc.abstractproperty": Kind.PROPERTY,
    "functools.cached_property": Kind.CACHED_PROPERTY,
    "functools.lru_cache": Kind.CACHED_FUNCTION,
    "functools.cache": Kind.CACHED_FUNCTION,
}
_DATACLASS = {"dataclasses.dataclass": "dataclass", "pydantic.dataclasses.dataclass": "pydantic"}
_AFTER = frozenset({Kind.STATICMETHOD, Kind.CLASSMETHOD, Kind.PROPERTY, Kind.CACHED_PROPERTY})


@dataclass(frozen=True)
class Effect:
    """
    What one decorator does.

    Args:
        what: SAME, WRAPS, WRAPS_ASYNC or UNKNOWN.
        kind: what it makes of a function, where it makes a descriptor.
        touched: attributes that it sets on a class.
        is_open: whether it may set others.
        dataclass: '' or the flavour of dataclass that it makes.
        bases: classes that it adds to the bases of one.
        options: the keywords that it was given.

    """

    what: str
    kind: Kind | None = None
    touched: frozenset[str] = frozenset()
    is_open: bool = False
    dataclass: str = ""
    bases: tuple[Value, ...] = ()
    options: dict[str, ast.expr] = field(default_factory=dict)


def effect_of(lookup: Lookup, decorator: ast.expr, scope: Scope) -> Effect:
    """Tell what a decorator does."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    options = (
        {one.arg: one.value for one in decorator.keywords if one.arg}
        if isinstance(decorator, ast.Call)
        else {}
    )
    values = lookup.evaluate(called, scope)
    effects = [_effect(lookup, value, decorator, options) for value in values]
    first = effects[0] if effects else Effect(UNKNOWN, is_open=True)
    if any((one.what, one.kind) != (first.what, first.kind) for one in effects):
        return Effect(UNKNOWN, is_open=True)
    return first


def function_kind(
    lookup: Lookup, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, *, method: bool
) -> tuple[Kind | None, str]:
    """
    Tell what a decorated function is.

    Returns:
        The kind, and '' or the decorator that nothing is known about.

    """
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
    return special or _plain(method=method, is_async=is_async), ""


def _plain(*, method: bool, is_async: bool) -> Kind:
    if method:
        return Kind.ASYNC_METHOD if is_async else Kind.METHOD
    return Kind.ASYNC_FUNCTION if is_async else Kind.FUNCTION


def _effect(
    lookup: Lookup, value: Value, decorator: ast.expr, options: dict[str, ast.expr]
) -> Effect:
    is_call = isinstance(decorator, ast.Call)
    if value.kind is Kind.OUTSIDE or value.dotted:
        return _outside(value.dotted.replace("typing_extensions.", "typing."), options)
    node = value.nodes[0] if value.nodes else None
    if value.state != "present" or not isinstance(node, ast.FunctionDef) or value.tree is None:
        return Effect(UNKNOWN, is_open=True)
    reader = _Reader(lookup, value)
    touched, is_open = reader.touched(node)
    flavour = reader.flavour(node) if _is_transform(node) else ""
    what = SAME if flavour else reader.outcome(node, is_call=is_call)
    is_open = is_open or what == UNKNOWN
    bases = reader.bases(node) if "__bases__" in touched else ()
    return Effect(
        what, None, touched - {"__bases__"} if bases else touched, is_open, flavour, bases, options
    )


def _outside(name: str, options: dict[str, ast.expr]) -> Effect:
    if name in _DESCRIPTORS:
        return Effect(SAME, _DESCRIPTORS[name])
    if name in _SAME:
        return Effect(SAME, dataclass=_DATACLASS.get(name, ""), options=options)
    if name in _WRAPS:
        return Effect(WRAPS)
    return Effect(UNKNOWN, is_open=True)


def _is_transform(node: ast.FunctionDef) -> bool:
    called = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return any(dotted(one).endswith("dataclass_transform") for one in called)


class _Reader:
    """
    Reads a decorator that upstream defines.

    Args:
        lookup: for what it calls.
        value: the decorator.

    """

    def __init__(self, lookup: Lookup, value: Value) -> None:
        assert value.tree is not None
        self._lookup = lookup
        self._tree = value.tree
        self._bound = value.kind in (Kind.CLASSMETHOD, Kind.METHOD)

    def outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int = 0) -> str:
        """Tell what comes out: of `@node`, or of `@node(…)`."""
        if depth > 3 or any(_yields(node)):
            return UNKNOWN
        names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
        if self._bound and depth == 0:
            names = names[1:]
        first = names[0] if names else None
        given = None if is_call else first
        outcomes = {
            self._returned(node, one, first, is_call=is_call, depth=depth)
            for one in _returns(node.body, first, given=given is not None)
        }
        return outcomes.pop() if len(outcomes) == 1 else UNKNOWN

    def _returned(
        self,
        node: ast.FunctionDef,
        returned: ast.expr | None,
        first: str | None,
        *,
        is_call: bool,
        depth: int,
    ) -> str:
        inner = {one.name: one for one in node.body if isinstance(one, _DEFS)}
        inner |= {one.name: one for one in _nested(node.body) if one.name not in inner}
        if is_call:
            if isinstance(returned, ast.Name) and isinstance(
                inner.get(returned.id), ast.FunctionDef
            ):
                target = inner[returned.id]
                assert isinstance(target, ast.FunctionDef)
                return self.outcome(target, is_call=False, depth=depth + 1)
            return UNKNOWN
        return self._of_given(node, returned, first, inner, depth)

    def _of_given(
        self,
        node: ast.FunctionDef,
        returned: ast.expr | None,
        first: str | None,
        inner: dict[str, ast.FunctionDef | ast.AsyncFunctionDef],
        depth: int,
    ) -> str:
        if first is None:
            return UNKNOWN
        if isinstance(returned, ast.Name):
            if returned.id == first and not _rebinds(node, first):
                return SAME
            if returned.id in inner and returned.id != first:
                return _wrapped(inner[returned.id], first)
        if isinstance(returned, ast.Call):
            return self._of_call(returned, first, inner, depth)
        return UNKNOWN

    def _of_call(
        self,
        call: ast.Call,
        first: str,
        inner: dict[str, ast.FunctionDef | ast.AsyncFunctionDef],
        depth: int,
    ) -> str:
        passes = bool(call.args) and isinstance(call.args[0], ast.Name) and call.args[0].id == first
        if not passes or not isinstance(call.func, ast.Name):
            return UNKNOWN
        target = inner.get(call.func.id) or self._function(call.func.id)
        if isinstance(target, ast.FunctionDef):
            return self.outcome(target, is_call=False, depth=depth + 1)
        return UNKNOWN

    def flavour(self, node: ast.FunctionDef) -> str:
        """Tell which dataclass a decorator of dataclasses makes."""
        scope = Scope(self._tree)
        found = {
            _DATACLASS.get(value.dotted, "")
            for one in ast.walk(node)
            if isinstance(one, ast.Call) and isinstance(one.func, (ast.Name, ast.Attribute))
            if "dataclass" in dotted(one.func)
            for value in self._lookup.evaluate(one.func, scope)
        } - {""}
        return found.pop() if len(found) == 1 else "unknown"

    def bases(self, node: ast.AST, depth: int = 0) -> tuple[Value, ...]:
        """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`."""
        found: tuple[Value, ...] = ()
        for one in ast.walk(node):
            if isinstance(one, ast.Assign) and dotted(one.targets[0]).endswith(".__bases__"):
                added = one.value.right if isinstance(one.value, ast.BinOp) else None
                for base in added.elts if isinstance(added, ast.Tuple) else ():
                    found += self._lookup.evaluate(base, Scope(self._tree))
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and depth < 3:
                function = self._function(one.func.id)
                if function is not None and function is not node:
                    found += self.bases(function, depth + 1)
        return tuple({id(one): one for one in found}.values())

    def touched(self, node: ast.AST, depth: int = 0) -> tuple[frozenset[str], bool]:
        """List the attributes that a function sets on what it is given; are there more?"""
        names: set[str] = set()
        is_open = False
        for one in ast.walk(node):
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, (ast.Store, ast.Del)):
                names.add(one.attr)
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                more, opened = self._touched_by_call(one, node, depth)
                names |= more
                is_open |= opened
        return frozenset(names), is_open

    def _touched_by_call(
        self, call: ast.Call, node: ast.AST, depth: int
    ) -> tuple[frozenset[str], bool]:
        assert isinstance(call.func, ast.Name)
        if call.func.id in ("setattr", "delattr"):
            if len(call.args) < 2:
                return frozenset(), True
            text = self._lookup.literals.text(call.args[1], self._tree)
            return (frozenset([text]), False) if text is not None else (frozenset(), True)
        function = self._function(call.func.id)
        if function is None or function is node or depth >= 3:
            return frozenset(), False
        return self.touched(function, depth + 1)

    def _function(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        found = [one.binding for one in self._lookup.cases(self._tree, name) if one.binding]
        node = found[-1].node if found else None
        return node if isinstance(node, _DEFS) else None


_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)


def touched_by(lookup: Lookup, value: Value) -> tuple[frozenset[str], bool]:
    """List the attributes that a function of the release sets; whether there may be more."""
    return _Reader(lookup, value).touched(value.nodes[0])


def _wrapped(inner: ast.FunctionDef | ast.AsyncFunctionDef, first: str) -> str:
    decorator = inner.decorator_list[0] if len(inner.decorator_list) == 1 else None
    if not isinstance(decorator, ast.Call) or not decorator.args:
        return UNKNOWN
    if dotted(decorator.func).split(".")[-1] != "wraps" or dotted(decorator.args[0]) != first:
        return UNKNOWN
    return WRAPS_ASYNC if isinstance(inner, ast.AsyncFunctionDef) else WRAPS


def _nested(
    body: list[ast.stmt],
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for one in body:
        if isinstance(one, _DEFS):
            yield one
        elif not isinstance(one, ast.ClassDef):
            for name in ("body", "orelse", "handlers", "finalbody"):
                yield from _nested(
                    [inner for inner in getattr(one, name, ()) if isinstance(inner, ast.stmt)]
                )


def _returns(body: list[ast.stmt], first: str | None, *, given: bool) -> list[ast.expr | None]:
    """List what is returned, on the ways that are open when the parameter was given or not."""
    found: list[ast.expr | None] = []
    if _follow(body, first, found, given=given):
        found.append(None)
    return found


def _follow(
    body: Sequence[ast.stmt], first: str | None, found: list[ast.expr | None], *, given: bool
) -> bool:
    """Note what statements return; tell whether they may run through."""
    for one in body:
        if isinstance(one, ast.Return):
            found.append(one.value)
            return False
        if isinstance(one, ast.Raise):
            return False
        if isinstance(one, ast.If):
            truth = _about(one.test, first, given=given)
            ways = [
                way
                for way, open_ in ((one.body, truth), (one.orelse, _not(truth)))
                if open_ is not False
            ]
            through = [_follow(way, first, found, given=given) for way in ways]
            if not any(through):
                return False
        elif isinstance(one, (ast.For, ast.While, ast.With, ast.Try)):
            bodies = [one.body, *(each.body for each in getattr(one, "handlers", []))]
            through = [_follow(each, first, found, given=given) for each in bodies]
            _follow(getattr(one, "orelse", []), first, found, given=given)
            if not any(through) and isinstance(one, (ast.With, ast.Try)):
                return False
    return True


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _about(test: ast.expr, first: str | None, *, given: bool) -> bool | None:
    if first is None:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _not(_about(test.operand, first, given=given))
    if isinstance(test, ast.Name) and test.id == first:
        return given
    if isinstance(test, ast.Call) and dotted(test.func) == "callable" and test.args:
        return given if dotted(test.args[0]) == first else None
    if isinstance(test, ast.Compare) and dotted(test.left) == first and len(test.ops) == 1:
        other = test.comparators[0]
        if isinstance(other, ast.Constant) and other.value is None:
            return given is isinstance(test.ops[0], ast.IsNot)
    return None


def _rebinds(node: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        for one in ast.walk(node)
    )


def _yields(node: ast.FunctionDef) -> Iterator[bool]:
    for one in node.body:
        if isinstance(one, ast.Expr) and isinstance(one.value, (ast.Yield, ast.YieldFrom)):
            yield True
