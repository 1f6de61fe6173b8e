"""Tells which statements run only if their module is started as a program."""

import ast

_NAME = "__name__"
_PROGRAM = "'__main__'"
"""The text that is the name of a program."""


def is_main_program(node: ast.stmt) -> bool:
    """Whether a statement runs only if its module is started as a program.

    Args:
        node: the statement.
    """
    if not isinstance(node, ast.If):
        return False
    return _asks_for_main(node.test)


def _asks_for_main(test: ast.expr) -> bool:
    """Whether a condition only holds in a program: `__name__ == "__main__"`, and perhaps more."""
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.Or):
            return False
        return any(map(_asks_for_main, test.values))
    if not isinstance(test, ast.Compare):
        return False
    operator = test.ops[0]
    if not isinstance(operator, ast.Eq):
        return False
    left = ast.unparse(test.left)
    right = ast.unparse(test.comparators[0])
    if left == _NAME:
        return right == _PROGRAM
    if left == _PROGRAM:
        return right == _NAME
    return False
