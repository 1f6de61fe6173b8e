"""Reads `for` loops by which a pile sets attributes."""

import ast
from collections.abc import Iterable, Iterator, Mapping

from patchkit.authoring.source.global_names import bound_names
from patchkit.authoring.source.name_scopes import NameScope


def guarded_assignments(loop: ast.For) -> Iterator[tuple[ast.expr, ast.Assign]]:
    """Yield each `if` in a loop whose block begins with an assignment, such as that of a sweep.

    A sweep is a loop over `sys.modules`: `if value is lib.f: vars(module)[name] = new_f`.

    Args:
        loop: The loop.

    Yields:
        The test of the `if`, and the assignment.
    """
    for node in ast.walk(loop):
        if not isinstance(node, ast.If):
            continue
        first_statement = node.body[0]
        if isinstance(first_statement, ast.Assign):
            yield node.test, first_statement


def value_in_turn(value: ast.expr, loop_values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression in one turn of a loop: loop variables are replaced by their values.

    Args:
        value: The expression, which stays as it is.
        loop_values: By loop variable, its value in this turn, as an expression.
    """
    text = ast.unparse(value)
    copied = ast.parse(text, mode="eval").body
    transformer = _LoopVariables(loop_values)
    replaced: ast.expr = transformer.visit(copied)
    return replaced


def made_in(body: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements bind, which mean something else whenever they run.

    Args:
        body: The statements, such as those of a loop.
    """
    names: set[str] = set()
    for statement in body:
        names |= bound_names(statement)
    return names


class _LoopVariables(ast.NodeTransformer):
    """Replaces the variables of a loop by their values in one turn."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace a name if it is a variable of the loop."""
        return self._values.get(node.id, node)


def swept(node: ast.For, scope: NameScope) -> Iterator[tuple[ast.Assign, list[str]]]:
    """Yield the assignments of a loop over `sys.modules`, with what each compares with.

    That is the original, which the assignment replaces: `if value is lib.f: …`.

    Args:
        node: The loop.
        scope: What the names in it mean.
    """
    for test, statement in guarded_assignments(node):
        originals = list[str]()
        for comparison in ast.walk(test):
            if isinstance(comparison, ast.Compare):
                # The `lib.f` of `value is lib.f`.
                right_side = comparison.comparators[0]
                originals += scope.dotted_names_of(right_side)
        yield statement, originals
