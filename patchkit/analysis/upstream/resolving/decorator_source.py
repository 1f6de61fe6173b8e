"""Tells what decorators make of functions and classes, from the source of the decorators."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.called import function_named
from patchkit.analysis.upstream.resolving.syntax import (
    DEFS,
    SCOPES,
    Def,
    Signature,
    dotted,
    signature_of,
    truth_of,
)
from patchkit.analysis.upstream.resolving.touches import DEPTH
from patchkit.analysis.upstream.resolving.values import Kind, Lookup, Scope, Value


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
DATACLASSES = {
    "dataclasses.dataclass": "dataclass",
    "pydantic.dataclasses.dataclass": "pydantic",
}


class _DecoratorUse(NamedTuple):
    """How a decorator is used, and how its source names the object that it decorates."""

    decorated: str  # `func`, or `args[0]`; '' if nothing names it
    is_call: bool  # whether it is used as `@decorator(…)`, not as `@decorator`
    facts: Mapping[str, bool]  # what tests in its source come to, by their text


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
        sets_signature = ".__signature__" in _stored_names(node)
        if depth > DEPTH or _is_generator(node) or sets_signature:
            return UNKNOWN
        # Only the first function may be a method; those that it leads to are found by their names.
        use = _use_of(node, is_call=is_call, is_bound=self._is_bound and depth == 0)
        returned: list[ast.expr | None] = []
        _collect_returned(node.body, use, returned)
        outcomes = {
            self._outcome_of_return(node, value, use, depth) for value in returned
        }
        if outcomes == {SAME, WRAPS}:
            return WRAPS  # the signature is the same either way
        if len(outcomes) != 1:
            return UNKNOWN
        return outcomes.pop()

    def dataclass_of(self, node: ast.FunctionDef) -> str:
        """Return the flavour of dataclass that a function makes of a class.

        Args:
            node: The function; it makes one if it is decorated with `dataclass_transform`.

        Returns:
            The flavour of the dataclass decorator that the function calls; "unknown" if it calls
            none or several. '' if it makes no dataclasses.
        """
        if not any(
            _is_dataclass_transform(decorator) for decorator in node.decorator_list
        ):
            return ""
        flavours: set[str] = set()
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and "dataclass" in dotted(part.func):
                for value in self._lookup.evaluate(part.func, Scope(self._tree)):
                    flavours.add(DATACLASSES.get(value.dotted, ""))
        flavours.discard("")
        if len(flavours) != 1:
            return "unknown"
        return flavours.pop()

    def _outcome_of_return(
        self,
        node: ast.FunctionDef,
        returned: ast.expr | None,
        use: _DecoratorUse,
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
            if use.decorated in _stored_names(node):
                return UNKNOWN  # the name may stand for another object by then
            return SAME
        if name in inner:
            return _outcome_of_wrapper(node, inner[name], use.decorated)
        return self._outcome_of_call(returned, use, inner, depth)

    def _outcome_of_call(
        self,
        call: ast.expr,
        use: _DecoratorUse,
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

    def _inner_functions(self, node: ast.FunctionDef) -> dict[str, Def]:
        """Return the functions that are defined in one; the first of each name counts."""
        key = ("inner", id(node))
        return self._tree.remember_with_file(key, lambda: _defined_in(node))


def _use_of(node: ast.FunctionDef, *, is_call: bool, is_bound: bool) -> _DecoratorUse:
    """Return how the source of a decorator names the object, and what its tests come to.

    Of a decorator for both uses, as `def d(func=None, **options)`, the tests tell them apart.

    Args:
        node: The function that decorates.
        is_call: Whether it is used as `@node(…)`, not as `@node`.
        is_bound: Whether its first parameter is `self` or `cls`.
    """
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    if is_bound:
        parameters = parameters[1:]
    decorated = ""
    if parameters:
        decorated = parameters[0].arg
    elif arguments.vararg:
        decorated = f"{arguments.vararg.arg}[0]"
    # As `@node` it is passed the object and nothing else, as `@node(…)` only options.
    facts = {
        decorated: not is_call,
        f"{decorated} is not None": not is_call,
        f"callable({decorated})": not is_call,
        f"{decorated} is None": is_call,
    }
    if arguments.kwarg and not is_call:  # no options are passed
        facts[arguments.kwarg.arg] = False
        facts[f"len({arguments.kwarg.arg}) == 0"] = True
    if arguments.vararg and not is_call:
        facts[f"len({arguments.vararg.arg}) == 1"] = True
    return _DecoratorUse(decorated, is_call, facts)


def _is_generator(node: ast.FunctionDef) -> bool:
    values = (getattr(statement, "value", None) for statement in node.body)
    return any(isinstance(value, (ast.Yield, ast.YieldFrom)) for value in values)


def _is_dataclass_transform(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return dotted(function).endswith("dataclass_transform")


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
    for inner in ast.walk(node):
        if isinstance(inner, DEFS) and inner is not node:
            functions.setdefault(inner.name, inner)
    return functions


def _stored_names(node: ast.AST) -> set[str]:
    """List the names that are assigned to in a function, and the attributes, as `.name`."""
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            names.add(f".{part.attr}")
    return names


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
    for part in ast.walk(node):
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


def _collect_returned(
    body: Sequence[ast.stmt],
    use: _DecoratorUse,
    returned: list[ast.expr | None],
) -> bool:
    """Collect the expressions that a decorator may return; blocks of statements are followed.

    Args:
        body: The statements to follow.
        use: How the decorator is used, which decides some tests.
        returned: The list to which the expressions are added; None for a bare `return`.

    Returns:
        Whether the end of the statements may be reached.
    """
    for statement in body:
        if isinstance(statement, ast.Return):
            returned.append(statement.value)
            return False
        if isinstance(statement, ast.Raise):
            return False
        if isinstance(statement, ast.If):
            if not _collect_from_if(statement, use, returned):
                return False
        elif not isinstance(statement, SCOPES):
            # What these return is collected, but the statements behind them are taken as reached.
            for field_name in ("body", "orelse", "finalbody"):
                _collect_returned(getattr(statement, field_name, ()), use, returned)
            for part in (
                *getattr(statement, "handlers", ()),
                *getattr(statement, "cases", ()),
            ):
                _collect_returned(part.body, use, returned)
    return True


def _collect_from_if(
    statement: ast.If,
    use: _DecoratorUse,
    returned: list[ast.expr | None],
) -> bool:
    """Collect from the branch that is taken, or from both; see `_collect_returned`."""
    truth = truth_of(statement.test, lambda test: use.facts.get(ast.unparse(test)))
    if truth is True:
        return _collect_returned(statement.body, use, returned)
    if truth is False:
        return _collect_returned(statement.orelse, use, returned)
    reaches_end = _collect_returned(statement.body, use, returned)
    reaches_end_otherwise = _collect_returned(statement.orelse, use, returned)
    return reaches_end or reaches_end_otherwise
