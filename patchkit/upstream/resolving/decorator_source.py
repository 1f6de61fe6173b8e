"""What a decorator that upstream defines gives back, read from its source."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from patchkit.upstream.resolving.syntax import DEFS, SCOPES, dotted, truth_of
from patchkit.upstream.resolving.touches import DEPTH, function_of
from patchkit.upstream.resolving.values import Kind, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchkit.upstream.resolving.syntax import Def
    from patchkit.upstream.resolving.values import Lookup, Value

SAME = "same"
WRAPS = "wraps"
WRAPS_ASYNC = "wraps as a coroutine function"
UNKNOWN = "unknown"

_BLOCKS = ("body", "orelse", "finalbody")


class _Use(NamedTuple):
    """How a decorator is used, and how its source names what it decorates: `func`, `args[0]`."""

    given: str
    is_call: bool
    """Whether it was called with options first, and is not given the object yet."""
    facts: Mapping[str, bool]
    """Tests that this decides, as they are written."""


class DecoratorSource:
    """The source of a decorator."""

    def __init__(self, lookup: Lookup, value: Value) -> None:
        self._lookup = lookup
        self._tree = value.home
        self._is_bound = value.kind in (Kind.CLASSMETHOD, Kind.METHOD)

    def outcome(self, node: ast.FunctionDef, *, is_call: bool, depth: int = 0) -> str:
        """Tell what comes out: of `@node`, or of `@node(…)`."""
        key = ("outcome", id(node), is_call, self._is_bound, depth)

        def work() -> str:
            return self._outcome(node, is_call=is_call, depth=depth)

        return self._lookup.settled(self._tree.notes, key, work)

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

    def dataclass_of(self, node: ast.FunctionDef, flavours: Mapping[str, str]) -> str:
        """Tell which flavour of dataclass it makes, `unknown` for another, '' where none."""
        marks = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
        if not any(dotted(one).endswith("dataclass_transform") for one in marks):
            return ""
        called = {
            flavours.get(value.dotted, "")
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
        inner = self._tree.by_file(("inner", id(node)), lambda: _defined_in(node))
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
        target = inner.get(dotted(called)) or function_of(self._lookup, self._tree, dotted(called))
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


# --- the ways through a function


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
            blocks = [getattr(statement, name, ()) for name in _BLOCKS]
            blocks += [handler.body for handler in getattr(statement, "handlers", ())]
            for block in blocks:
                _follow(block, use, returned)
    return True
