"""Evaluates expressions whose value is in the text: literals, and arithmetic on numbers."""

import ast
import math
from collections.abc import Mapping
from operator import (
    add,
    floordiv,
    lshift,
    mod,
    mul,
    sub,
    truediv,
)
from operator import (
    pow as power,
)
from typing import Any

_FUNCTIONS: Mapping[str, Any] = {
    "Add": add,
    "Sub": sub,
    "Mult": mul,
    "Div": truediv,
    "FloorDiv": floordiv,
    "Mod": mod,
    "LShift": lshift,
    "Pow": power,
}
"""What computes the result of an operator, by the name of its syntax node."""
_GROWING = (ast.LShift, ast.Pow)
_LARGEST_EXPONENT = 64
"""`2 ** n` and `1 << n` are evaluated up to here, so that no number fills the memory."""


def literal_value(node: ast.expr, values: Mapping[str, ast.expr]) -> Any:
    """Return the value of an expression such as `512 * 1024`.

    Args:
        node: The expression.
        values: What plain names stand for, by name.

    Raises:
        ValueError: Its value is not in the text.
    """
    folded = _folded(node, values)
    return ast.literal_eval(folded)


def _folded(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with literals in the place of names and of arithmetic.

    Raises:
        ValueError: A name stands for nothing known, or for something that is made from itself.
    """
    if isinstance(node, ast.Name):
        return _value_of(node.id, values)
    if isinstance(node, ast.BinOp):
        left = _folded(node.left, values)
        right = _folded(node.right, values)
        return _computed(node.op, left, right)
    if isinstance(node, ast.UnaryOp):
        operand = _folded(node.operand, values)
        return ast.UnaryOp(node.op, operand)
    if isinstance(node, (ast.Tuple, ast.List)):
        elements = [_folded(element, values) for element in node.elts]
        kind = type(node)
        return kind(elements, ast.Load())
    return node


def _value_of(name: str, values: Mapping[str, ast.expr]) -> ast.expr:
    """Return the literal that a name stands for.

    Raises:
        ValueError: It stands for nothing known, or for something that is made from itself.
    """
    if name not in values:
        raise ValueError(name)
    # The value is read without the name itself, as `X = X + 1` would never end.
    other_values = dict(values)
    value = other_values.pop(name)
    return _folded(value, other_values)


def _computed(sign: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr:
    """Return the result of arithmetic on two numbers.

    Raises:
        ValueError: They are no numbers, or the result is none, or too large.
    """
    left_number = _number(left)
    right_number = _number(right)
    name = type(sign).__name__
    if name not in _FUNCTIONS:
        raise ValueError(name)
    if isinstance(sign, _GROWING) and abs(right_number) > _LARGEST_EXPONENT:
        raise ValueError(name)
    function = _FUNCTIONS[name]
    try:
        result = function(left_number, right_number)
    except (ArithmeticError, ValueError) as error:
        message = str(error)
        raise ValueError(message) from error
    is_number = isinstance(result, (int, float))
    if not is_number or not math.isfinite(result):
        raise ValueError(name)
    return ast.Constant(result)


def _number(node: ast.expr) -> float:
    """Return the number that a literal is.

    Raises:
        ValueError: It is no number.
    """
    value = ast.literal_eval(node)
    # No `bool`, which is an `int`, too.
    if type(value) in (int, float):
        number: float = value
        return number
    text = ast.unparse(node)
    raise ValueError(text)
