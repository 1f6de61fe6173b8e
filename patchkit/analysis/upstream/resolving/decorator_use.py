"""Tells how a decorator is used, and which expressions it may return then."""

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from patchkit.analysis.upstream.resolving.syntax import SCOPES, truth_of


class DecoratorUse(NamedTuple):
    """How a decorator is used, and how its source names the object that it decorates.

    Args:
        decorated: The name of the object, `func` or `args[0]`; '' if nothing names it.
        is_call: Whether it is used as `@decorator(…)`, not as `@decorator`.
        facts: What tests in its source come to, by their text.
    """

    decorated: str
    is_call: bool
    facts: Mapping[str, bool]


def use_of(node: ast.FunctionDef, *, is_call: bool, is_bound: bool) -> DecoratorUse:
    """Return how the source of a decorator names the object, and what its tests come to.

    Of a decorator for both uses, as `def d(func=None, **options)`, the tests tell them apart.

    Args:
        node: The function that decorates.
        is_call: Whether it is used as `@node(…)`, not as `@node`.
        is_bound: Whether its first parameter is `self` or `cls`.

    Returns:
        The use.
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
    return DecoratorUse(decorated, is_call, facts)


def collect_returned(
    body: Sequence[ast.stmt],
    use: DecoratorUse,
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
                collect_returned(getattr(statement, field_name, ()), use, returned)
            for part in (
                *getattr(statement, "handlers", ()),
                *getattr(statement, "cases", ()),
            ):
                collect_returned(part.body, use, returned)
    return True


def _collect_from_if(
    statement: ast.If,
    use: DecoratorUse,
    returned: list[ast.expr | None],
) -> bool:
    """Collect from the branch that is taken, or from both; see `collect_returned`."""
    truth = truth_of(statement.test, lambda test: use.facts.get(ast.unparse(test)))
    if truth is True:
        return collect_returned(statement.body, use, returned)
    if truth is False:
        return collect_returned(statement.orelse, use, returned)
    reaches_end = collect_returned(statement.body, use, returned)
    reaches_end_otherwise = collect_returned(statement.orelse, use, returned)
    return reaches_end or reaches_end_otherwise
