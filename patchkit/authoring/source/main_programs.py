"""Tells which statements run only if their module is started as a program."""

import ast


def is_main_program(node: ast.stmt) -> bool:
    """Whether a statement runs only if its module is started as a program.

    Args:
        node: the statement.
    """
    return isinstance(node, ast.If) and _asks_for_main(node.test)


def _asks_for_main(test: ast.expr) -> bool:
    """Whether a condition only holds in a program: `__name__ == "__main__"`, and perhaps more."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_asks_for_main, test.values))
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [ast.unparse(test.left), ast.unparse(test.comparators[0])]
    return sorted(sides) == ["'__main__'", "__name__"]
