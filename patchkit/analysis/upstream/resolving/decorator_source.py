"""Tells what decorators make of functions and classes, from the source of the decorators."""

import ast
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.called import (
    CalledFunction,
    function_called,
    function_named,
)
from patchkit.analysis.upstream.resolving.decorator_use import (
    DecoratorUse,
    collect_returned,
    use_of,
)
from patchkit.analysis.upstream.resolving.signature_settings import (
    SIGNATURE_ATTRIBUTES,
)
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    Signature,
    argument_values,
    dotted,
    signature_of,
    walk,
)
from patchkit.analysis.upstream.resolving.touches import DEPTH
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Value


class DecoratorOutcome(NamedTuple):
    """What a decorator returns.

    Args:
        result: One of the words of the constants below.
        takes: The parameters of a wrapper that has some of its own; None for `(*args, **kwargs)`.
    """

    result: str
    takes: Signature | None = None


SAME = DecoratorOutcome("same")
"""The decorator returns the object that it decorates."""
WRAPS = DecoratorOutcome("wraps")
"""It returns a function made with `functools.wraps`, which keeps the signature."""
WRAPS_ASYNC = DecoratorOutcome("wraps as a coroutine function")
"""The same, but the function is a coroutine function."""
UNKNOWN = DecoratorOutcome("unknown")
"""Nothing is known about the object that it returns."""


class DecoratorSource:
    """The source of a decorator of the release.

    Args:
        lookup: The release.
        value: The function.
    """

    def __init__(self, lookup: Lookup, value: Value) -> None:
        self._lookup = lookup
        self._tree = value.module_tree
        self._is_bound = value.kind in (Kind.CLASSMETHOD, Kind.METHOD)

    def outcome(
        self, node: ast.FunctionDef, *, is_call: bool, depth: int = 0
    ) -> DecoratorOutcome:
        """Return what a decorator makes of an object.

        Args:
            node: The function that decorates, or that is called to make the decorator.
            is_call: Whether it is used as `@node(…)`, not as `@node`.
            depth: How many functions led to it.

        Returns:
            One of the outcomes above, that of a wrapper with its own parameters.
        """
        key = ("outcome", id(node), is_call, self._is_bound, depth)
        compute = partial(self._outcome, node, is_call=is_call, depth=depth)
        return self._lookup.remember(self._tree.conclusions, key, compute)

    def _outcome(
        self, node: ast.FunctionDef, *, is_call: bool, depth: int
    ) -> DecoratorOutcome:
        """Work out the outcome; see `outcome`, which remembers it."""
        # The result of a generator is no decorator's, and an assigned signature may be any.
        if depth > DEPTH or self._is_no_decorator(node):
            return UNKNOWN
        if self._calls_setter(CalledFunction(node, self._tree), depth):
            return UNKNOWN
        # Only the first function may be a method; those that it leads to are found by their names.
        use = use_of(node, is_call=is_call, is_bound=self._is_bound and depth == 0)
        returned: list[ast.expr | None] = []
        collect_returned(node.body, use, returned)
        outcomes = {
            self._outcome_of_return(node, value, use, depth) for value in returned
        }
        if outcomes == {SAME, WRAPS}:
            return WRAPS  # the signature is the same either way
        if len(outcomes) != 1:
            return UNKNOWN
        return outcomes.pop()

    def _is_no_decorator(self, node: ast.FunctionDef) -> bool:
        """Whether a function is a generator, or sets what signatures are read from."""
        return self._tree.remember_with_file(
            ("no decorator", id(node)),
            lambda: _is_generator(node) or _sets_signature(node),
        )

    def _calls_setter(self, caller: CalledFunction, depth: int) -> bool:
        """Whether a function passes names to another of the release that sets a signature."""
        key = ("calls setter", id(caller.node), depth)
        compute = partial(self._find_setter, caller, depth)
        return self._lookup.remember(caller.tree.conclusions, key, compute)

    def _find_setter(self, caller: CalledFunction, depth: int) -> bool:
        """Work out whether it does; see `_calls_setter`, which remembers it."""
        if depth > DEPTH:
            return False
        for call in walk(caller.node):
            if not isinstance(call, ast.Call):
                continue
            if not any(isinstance(value, ast.Name) for value in argument_values(call)):
                continue
            owner, _, name = dotted(call.func).rpartition(".")
            called = function_called(self._lookup, caller.tree, owner, name)
            if called is None or called.node is caller.node:
                continue
            if self._sets_signature(called) or self._calls_setter(called, depth + 1):
                return True
        return False

    def _sets_signature(self, function: CalledFunction) -> bool:
        """Whether a function sets what signatures are read from, on whatever object."""
        return function.tree.remember_with_file(
            ("sets signature", id(function.node)),
            lambda: _sets_signature(function.node),
        )

    def _stored_names(self, node: ast.FunctionDef) -> set[str]:
        """Return what the function of that name finds, from memory if it has read this node."""
        return self._tree.remember_with_file(
            ("stored names", id(node)), lambda: _stored_names(node)
        )

    def makes_other(self, node: ast.FunctionDef, *, is_call: bool) -> bool:
        """Whether a decorator returns another object than the class that it decorates.

        Args:
            node: The function that decorates, or that is called to make the decorator.
            is_call: Whether it is used as `@node(…)`, not as `@node`.

        Returns:
            False as well if that is not known, as of the result of a call.
        """
        use = use_of(node, is_call=is_call, is_bound=self._is_bound)
        returned: list[ast.expr | None] = []
        reaches_end = collect_returned(node.body, use, returned)
        inner = self._inner_functions(node)
        if is_call:
            made = [inner.get(dotted(value)) for value in returned]
            decorator = made[0] if len(made) == 1 else None
            if not isinstance(decorator, ast.FunctionDef):
                return False
            return self.makes_other(decorator, is_call=False)
        if not returned:
            return reaches_end  # it returns None
        return all(_is_other(node, value, use.decorated) for value in returned)

    def _outcome_of_return(
        self,
        node: ast.FunctionDef,
        returned: ast.expr | None,
        use: DecoratorUse,
        depth: int,
    ) -> DecoratorOutcome:
        """Return the outcome of one expression that a decorator returns.

        Args:
            node: The function that decorates.
            returned: The expression; None for a bare `return`.
            use: How the decorator is used.
            depth: How many functions led to it.
        """
        returned = _without_cast(returned)
        name = ""
        if isinstance(returned, ast.Name):
            name = returned.id
        inner = self._inner_functions(node)
        if use.is_call:
            # `@node(…)` must return an inner function, which is the decorator itself.
            target = inner.get(name)
            if not isinstance(target, ast.FunctionDef):
                return UNKNOWN
            return self.outcome(target, is_call=False, depth=depth + 1)
        if returned is None or not use.decorated:
            return UNKNOWN  # it returns nothing, or cannot name the object that it decorates
        if ast.unparse(returned) == use.decorated:
            if use.decorated in self._stored_names(node):
                return UNKNOWN  # the name may stand for another object by then
            return SAME
        if name in inner:
            outcome = _outcome_of_wrapper(node, inner[name], use.decorated)
            if outcome != UNKNOWN and self._is_of_own_wraps(node, inner[name]):
                return UNKNOWN
            return outcome
        return self._outcome_of_call(returned, use, inner, depth)

    def _outcome_of_call(
        self,
        call: ast.expr,
        use: DecoratorUse,
        inner: Mapping[str, Def],
        depth: int,
    ) -> DecoratorOutcome:
        """Return the outcome of `return f(func)` or `return f(…)(func)`, by the source of f.

        Args:
            call: The expression that is returned.
            use: How the decorator is used.
            inner: The functions that are defined in it.
            depth: How many functions led to it.
        """
        if not isinstance(call, ast.Call) or not call.args:
            return UNKNOWN
        is_call = False
        function = call.func
        if isinstance(function, ast.Call):  # `f(…)(func)`
            is_call = True
            function = function.func
        name = dotted(function)
        target = inner.get(name) or function_named(self._lookup, self._tree, name)
        is_passed_on = ast.unparse(call.args[0]) == use.decorated
        if not is_passed_on or not isinstance(target, ast.FunctionDef):
            return UNKNOWN
        return self.outcome(target, is_call=is_call, depth=depth + 1)

    def _is_of_own_wraps(self, node: ast.FunctionDef, inner: Def) -> bool:
        """Whether a wrapper is made by a `wraps` of the release, not that of functools."""
        calls = [
            dotted(getattr(call, "func", None)) for call in _calls_upon(node, inner)
        ]
        if "wraps" not in calls:
            return False  # such as `functools.wraps`
        values = self._lookup.visible(self._tree, "wraps")
        return any(isinstance(value.nodes[0], DEFS) for value in values if value.nodes)

    def _inner_functions(self, node: ast.FunctionDef) -> dict[str, Def]:
        """Return the functions that are defined in one; the first of each name counts."""
        key = ("inner", id(node))
        return self._tree.remember_with_file(key, lambda: _defined_in(node))


def _is_other(node: ast.FunctionDef, returned: ast.expr | None, decorated: str) -> bool:
    """Whether what a decorator returns is certainly not the class that it decorates."""
    if returned is None or isinstance(returned, (ast.Constant, ast.Lambda)):
        return True
    if isinstance(
        returned, ast.Call
    ):  # an instance of the class, or a class made by `type`
        is_type = dotted(returned.func) == "type" and len(returned.args) > 1
        return is_type or dotted(returned.func) == decorated
    defined = [part for part in walk(node) if isinstance(part, SCOPES)]
    names = {part.name for part in defined if part is not node}
    return dotted(returned) in names - {decorated}


def _is_generator(node: ast.FunctionDef) -> bool:
    values = (getattr(statement, "value", None) for statement in node.body)
    return any(isinstance(value, (ast.Yield, ast.YieldFrom)) for value in values)


def _without_cast(expression: ast.expr | None) -> ast.expr | None:
    """Return `x` for `cast(T, x)`, any other expression as it is."""
    if not isinstance(expression, ast.Call) or len(expression.args) != 2:
        return expression
    if dotted(expression.func).endswith("cast"):
        return expression.args[1]
    return expression


def _defined_in(node: ast.FunctionDef) -> dict[str, Def]:
    """Find the functions inside a function, by name; the first of each name."""
    functions: dict[str, Def] = {}
    for inner in walk(node):
        if isinstance(inner, DEFS) and inner is not node:
            functions.setdefault(inner.name, inner)
    return functions


def _stored_names(node: ast.AST) -> set[str]:
    """List the names that are bound in a function, and the attributes that are set, as `.name`."""
    names: set[str] = set()
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
            names.add(f".{part.attr}")
        elif isinstance(part, (*SCOPES, ast.ExceptHandler, ast.MatchAs)):
            names.add(part.name or "")
        elif isinstance(part, ast.alias):
            names.add(part.asname or part.name)
    return names


def _sets_signature(node: Def) -> bool:
    """Whether a decorator sets what a signature is read from, on whatever object."""
    stored = {name.removeprefix(".") for name in _stored_names(node)}
    if stored & SIGNATURE_ATTRIBUTES:
        return True
    for part in walk(node):
        if isinstance(part, ast.Call) and dotted(part.func) in ("setattr", "delattr"):
            for argument in part.args[1:2]:
                if getattr(argument, "value", None) in SIGNATURE_ATTRIBUTES:
                    return True
    return False


def _outcome_of_wrapper(
    node: ast.FunctionDef, inner: Def, decorated: str
) -> DecoratorOutcome:
    """Return `WRAPS` or `WRAPS_ASYNC` for an inner function below `@wraps(func)`, else `UNKNOWN`.

    Args:
        node: The function that decorates.
        inner: The function in it.
        decorated: How the source names the object.
    """
    if not any(_wraps(call, decorated) for call in _calls_upon(node, inner)):
        return UNKNOWN
    takes = signature_of(inner.args)
    outcome = WRAPS
    if isinstance(inner, ast.AsyncFunctionDef):
        outcome = WRAPS_ASYNC
    if takes.passes_all():
        return outcome
    return outcome._replace(takes=takes)


def _calls_upon(node: ast.FunctionDef, inner: Def) -> Iterator[ast.expr]:
    """List what an inner function is passed to: its only decorator, `f(…)` of `g = f(…)(g)`.

    What several decorators make of it together is not followed.
    """
    if len(inner.decorator_list) == 1:
        yield inner.decorator_list[0]
    for part in walk(node):
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        if dotted(part.targets[0]) == inner.name:
            yield part.value.func


def _wraps(call: ast.expr, decorated: str) -> bool:
    """Whether an expression is `wraps(decorated)`."""
    if not isinstance(call, ast.Call) or not call.args:
        return False
    return (
        dotted(call.func).endswith("wraps") and ast.unparse(call.args[0]) == decorated
    )
