"""What a decorator that upstream defines gives back, read from its source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving import literals
from patchkit.upstream.resolving.conditions import dotted
from patchkit.upstream.resolving.scope import Scope
from patchkit.upstream.resolving.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchkit.upstream.resolving.lookup import Lookup
    from patchkit.upstream.resolving.values import Value

SAME = "same"
WRAPS = "wraps"
WRAPS_ASYNC = "wraps as a coroutine function"
UNKNOWN = "unknown"

_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEPTH = 3
_SETTERS = frozenset({"setattr", "delattr", "__setattr__"})


class _Use(NamedTuple):
    """
    How a decorator is used, and how its source names what it decorates.

    Args:
        given: `func`, or `args[0]`; '' where it has no parameter for it.
        keywords: `kwargs`, where it has that; else ''.
        is_call: whether it was called with options first, and is not given the object yet.

    """

    given: str
    keywords: str
    is_call: bool


class _Code(NamedTuple):
    """
    What a function does, as far as that concerns the attributes of what it is given.

    Args:
        stored: attributes that it sets or deletes, of whatever.
        setters: calls of `setattr` and its kin.
        called: whatever else it calls, each as the dotted name before the last dot, and the rest.
        given: its first parameter, and those of the functions in it that it returns.
        bound: names that it binds.
        signed: whether it sets a signature on something.

    """

    stored: frozenset[str]
    setters: tuple[ast.Call, ...]
    called: frozenset[tuple[str, str]]
    given: frozenset[str]
    bound: frozenset[str]
    signed: bool


class DecoratorSource:
    """
    The source of a decorator.

    Args:
        lookup: for what it calls.
        value: the decorator.

    """

    def __init__(self, lookup: Lookup, value: Value) -> None:
        assert value.tree is not None
        self._lookup = lookup
        self._tree = value.tree
        self._class = value.classes[-1] if value.classes else None
        self._bound = value.kind in (Kind.CLASSMETHOD, Kind.METHOD)

    def outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int = 0) -> str:
        """Tell what comes out: of `@node`, or of `@node(…)`."""
        key = ("outcome", id(node), is_call, self._bound, depth)

        def work() -> str:
            return self._outcome(node, is_call=is_call, depth=depth)

        found: str = self._lookup.settled(self._tree.notes, key, work)
        return found

    def _outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int) -> str:
        if depth > _DEPTH or any(_yields(node)):
            return UNKNOWN
        use = _use(node, is_call=is_call, skipped=int(self._bound and depth == 0))
        found = {self._returned(node, one, use, depth) for one in _returns(node.body, use)}
        if UNKNOWN not in found and self._code(node).signed:
            return UNKNOWN
        if found == {SAME, WRAPS}:
            return WRAPS
        return found.pop() if len(found) == 1 else UNKNOWN

    def touched(self, node: ast.AST, depth: int = 0) -> tuple[frozenset[str], bool]:
        """List the attributes that a function sets on what it is given; are there more?"""
        key = ("touched", id(node), depth)
        found: tuple[frozenset[str], bool] = self._tree.noted(
            key, lambda: self._touched(node, depth)
        )
        return found

    def _touched(self, node: ast.AST, depth: int) -> tuple[frozenset[str], bool]:
        code = self._code(node)
        ways = [
            *(self._set_by(one) for one in code.setters),
            *(self._touched_by_call(*one, node, code.given, depth) for one in code.called),
        ]
        names = code.stored.union(*(touched for touched, _ in ways))
        return names, any(is_open for _, is_open in ways)

    def bases(self, node: ast.AST, depth: int = 0) -> tuple[Value, ...]:
        """List the classes in `cls.__bases__ = cls.__bases__ + (…,)`."""
        found: tuple[Value, ...] = ()
        for one in ast.walk(node):
            if isinstance(one, ast.Assign) and dotted(one.targets[0]).endswith(".__bases__"):
                added = one.value.right if isinstance(one.value, ast.BinOp) else None
                for base in added.elts if isinstance(added, ast.Tuple) else ():
                    found += self._lookup.evaluate(base, Scope(self._tree))
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and depth < _DEPTH:
                function = self._function(one.func.id)
                if function is not None and function is not node:
                    found += self.bases(function, depth + 1)
        return tuple({id(one): one for one in found}.values())

    def is_transform(self, node: ast.FunctionDef) -> bool:
        """Whether it says of itself that it makes dataclasses."""
        called = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
        return any(dotted(one).endswith("dataclass_transform") for one in called)

    def dataclass_of(self, node: ast.FunctionDef, flavours: Mapping[str, str]) -> str:
        """Tell which of some flavours of dataclass it makes; else `unknown`."""
        scope = Scope(self._tree)
        found = {
            flavours.get(value.dotted, "")
            for one in ast.walk(node)
            if isinstance(one, ast.Call) and isinstance(one.func, (ast.Name, ast.Attribute))
            if "dataclass" in dotted(one.func)
            for value in self._lookup.evaluate(one.func, scope)
        } - {""}
        return found.pop() if len(found) == 1 else "unknown"

    # --- what is returned

    def _returned(
        self, node: ast.FunctionDef, returned: ast.expr | None, use: _Use, depth: int
    ) -> str:
        own = [one for one in node.body if isinstance(one, _DEFS)]
        inner = {one.name: one for one in (*_nested(node.body), *own)}
        returned = _uncast(returned)
        if use.is_call:
            target = inner.get(returned.id) if isinstance(returned, ast.Name) else None
            if not isinstance(target, ast.FunctionDef):
                return UNKNOWN
            return self.outcome(target, is_call=False, depth=depth + 1)
        if returned is None or not use.given:
            return UNKNOWN
        if ast.unparse(returned) == use.given:
            return UNKNOWN if use.given in self._code(node).bound else SAME
        if isinstance(returned, ast.Name) and returned.id in inner:
            return _wrapped(node, inner[returned.id], use.given)
        return self._of_call(returned, use, inner, depth)

    def _of_call(
        self,
        call: ast.expr,
        use: _Use,
        inner: Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef],
        depth: int,
    ) -> str:
        """Follow `other(func)`, and `other(…)(func)`."""
        if not isinstance(call, ast.Call) or not call.args:
            return UNKNOWN
        is_call = isinstance(call.func, ast.Call)
        name = dotted(call.func.func if isinstance(call.func, ast.Call) else call.func)
        target = inner.get(name) or self._function(name)
        if ast.unparse(call.args[0]) != use.given or not isinstance(target, ast.FunctionDef):
            return UNKNOWN
        return self.outcome(target, is_call=is_call, depth=depth + 1)

    def _code(self, node: ast.AST) -> _Code:
        code: _Code = self._tree.by_file(("code", id(node)), lambda: _code(node))
        return code

    def _set_by(self, call: ast.Call) -> tuple[frozenset[str], bool]:
        if len(call.args) < 2:
            return frozenset(), True
        at = -2 if "." in dotted(call.func) else 1
        text = literals.text(self._lookup, call.args[at], self._tree)
        return (frozenset([text]), False) if text is not None else (frozenset(), True)

    def _touched_by_call(
        self, owner: str, name: str, node: ast.AST, given: frozenset[str], depth: int
    ) -> tuple[frozenset[str], bool]:
        function = self._function(name) if not owner else self._method(name)
        if function is None and owner in given:
            return frozenset(), not name.startswith("__")  # a method of what it is given
        if function is None or function is node or depth >= _DEPTH:
            return frozenset(), False
        return self.touched(function, depth + 1)

    def _method(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        body = self._class.body if self._class else ()
        return next((one for one in body if isinstance(one, _DEFS) and one.name == name), None)

    def _function(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        found = [one.binding for one in self._lookup.cases(self._tree, name) if one.binding]
        node = found[-1].node if found else None
        return node if isinstance(node, _DEFS) else None


def _code(node: ast.AST) -> _Code:
    nodes = list(ast.walk(node))
    attributes = [one for one in nodes if isinstance(one, ast.Attribute)]
    names = (one for one in nodes if isinstance(one, ast.Name))
    calls = [(one, dotted(one.func)) for one in nodes if isinstance(one, ast.Call)]
    return _Code(
        frozenset(one.attr for one in attributes if isinstance(one.ctx, (ast.Store, ast.Del))),
        tuple(one for one, name in calls if _last(name) in _SETTERS),
        frozenset(_split(name) for _, name in calls if _last(name) not in _SETTERS),
        _given(node, nodes),
        frozenset(one.id for one in names if isinstance(one.ctx, ast.Store)),
        any(one.attr == "__signature__" and isinstance(one.ctx, ast.Store) for one in attributes),
    )


def _split(name: str) -> tuple[str, str]:
    owner, _, last = name.rpartition(".")
    return owner, last


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _given(node: ast.AST, nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Name the first parameter of a function, and of the functions in it that it returns."""
    returned = {dotted(one.value) for one in nodes if isinstance(one, ast.Return) and one.value}
    functions = [
        one for one in nodes if isinstance(one, _DEFS) and (one is node or one.name in returned)
    ]
    return frozenset(one.args.args[0].arg for one in functions if one.args.args)


def _use(node: ast.FunctionDef, *, is_call: bool, skipped: int) -> _Use:
    arguments = node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][skipped:]
    rest = f"{arguments.vararg.arg}[0]" if arguments.vararg else ""
    keywords = arguments.kwarg.arg if arguments.kwarg else ""
    return _Use(names[0] if names else rest, keywords, is_call)


def _uncast(returned: ast.expr | None) -> ast.expr | None:
    is_cast = isinstance(returned, ast.Call) and dotted(returned.func).endswith("cast")
    if isinstance(returned, ast.Call) and is_cast and len(returned.args) == 2:
        return returned.args[1]
    return returned


def _wrapped(
    node: ast.FunctionDef, inner: ast.FunctionDef | ast.AsyncFunctionDef, given: str
) -> str:
    """Tell whether an inner function wraps what is given: above it, or by an assignment."""
    calls = inner.decorator_list if len(inner.decorator_list) == 1 else []
    below = [
        one.value.func
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        if dotted(one.targets[0]) == inner.name
    ]
    if not any(_is_wraps(one, given) for one in (*calls, *below)):
        return UNKNOWN
    return WRAPS_ASYNC if isinstance(inner, ast.AsyncFunctionDef) else WRAPS


def _is_wraps(call: ast.expr, given: str) -> bool:
    if not isinstance(call, ast.Call) or not call.args:
        return False
    return dotted(call.func).endswith("wraps") and ast.unparse(call.args[0]) == given


def _nested(body: Sequence[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for one in body:
        if isinstance(one, _DEFS):
            yield one
        elif not isinstance(one, ast.ClassDef):
            for name in ("body", "orelse", "handlers", "finalbody"):
                yield from _nested(getattr(one, name, ()))


# --- the ways through a function


def _returns(body: Sequence[ast.stmt], use: _Use) -> list[ast.expr | None]:
    """List what is returned, on the ways that are open when it is used like that."""
    found: list[ast.expr | None] = []
    if _follow(body, use, found):
        found.append(None)
    return found


def _follow(body: Sequence[ast.stmt], use: _Use, found: list[ast.expr | None]) -> bool:
    """Note what statements return; tell whether they may run through."""
    for one in body:
        if isinstance(one, ast.Return):
            found.append(one.value)
            return False
        if isinstance(one, ast.Raise):
            return False
        if isinstance(one, ast.If):
            truth = _truth(one.test, use)
            ways = [
                way
                for way, way_is in ((one.body, True), (one.orelse, False))
                if truth is None or truth is way_is
            ]
            through = [_follow(way, use, found) for way in ways]
            if not any(through):
                return False
        elif isinstance(one, (ast.For, ast.While, ast.With, ast.Try)):
            bodies = [one.body, *(each.body for each in getattr(one, "handlers", []))]
            through = [_follow(each, use, found) for each in bodies]
            _follow(getattr(one, "orelse", []), use, found)
            if not any(through) and isinstance(one, (ast.With, ast.Try)):
                return False
    return True


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _truth(test: ast.expr, use: _Use) -> bool | None:
    """Tell what a test comes to; None where the use does not tell."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _not(_truth(test.operand, use))
    if isinstance(test, ast.BoolOp):
        parts = [_truth(one, use) for one in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(test, ast.Name) and test.id == use.keywords:
        return None if use.is_call else False
    if isinstance(test, ast.Call) and dotted(test.func) == "callable" and test.args:
        return _truth(test.args[0], use) if ast.unparse(test.args[0]) == use.given else None
    if use.given and ast.unparse(test) == use.given:
        return not use.is_call
    return _compared(test, use) if isinstance(test, ast.Compare) else None


def _compared(test: ast.Compare, use: _Use) -> bool | None:
    """Read `func is None`, `len(args) == 1`, `len(kwargs) == 0`."""
    text = ast.unparse(test)
    if not use.given:
        return None
    if text in (f"{use.given} is None", f"{use.given} is not None"):
        return use.is_call is text.endswith(" is None")
    vararg = use.given.removesuffix("[0]")
    alone = (f"len({vararg}) == 1", f"len({use.keywords}) == 0")
    return True if text in alone and not use.is_call else None


def _yields(node: ast.FunctionDef) -> Iterator[bool]:
    for one in node.body:
        if isinstance(one, ast.Expr) and isinstance(one.value, (ast.Yield, ast.YieldFrom)):
            yield True
